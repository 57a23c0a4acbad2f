export { DASHBOARDS } from './dashboards.js'
export { type Dashboard, type Panel, type Query, type Row, toGrafana, type Unit } from './grafana.js'
