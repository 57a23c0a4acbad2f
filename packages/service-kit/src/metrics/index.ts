export { publishCertificates, type ReplacedCertificate } from './certificates.js'
export { type FailureCounters, publishFailures } from './failures.js'
export type { MetricDescription } from './metric-description.js'
export { type GaugeSource, Metrics } from './metrics.js'
export {
  type MetricsServerOptions,
  type RunningMetricsServer,
  serveMetrics,
  startMetricsServer
} from './server.js'
export { type MeasuredPool, publishTransports, type TransportMetrics } from './transport-metrics.js'
