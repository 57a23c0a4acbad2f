export { DASHBOARDS } from './dashboards.js'
export { type Query, type Row, toGrafana } from './grafana.js'
