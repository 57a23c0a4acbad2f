export { counting } from './counting.js'
export { type MetricDescription, type GaugeSource, Metrics } from './metrics.js'
export { type MetricsServerOptions, type RunningMetricsServer, startMetricsServer } from './server.js'
