import { Metrics, startMetricsServer } from '@open-payments-server/service-kit/metrics'
import type { PurgeCounter } from '../domain/counters.js'
import { publishPurge } from '../metrics/purge-metrics.js'
import { publishReservations } from '../metrics/reservation-metrics.js'
import type { Context } from './context.js'
import { type Counters, startCounting } from './counters.js'
import type { Resources } from './resources.js'

/** Metrics: always counted, and served if a port is given. */
export interface ServedMetrics {
  readonly counters: Counters
  readonly countPurged: PurgeCounter
  /** For adding more metrics. */
  readonly metrics: Metrics
  /** Port of the listener; undefined when there is none. */
  readonly port: number | undefined
}

/** Starts counting, and listens for scrapes. */
export async function startMetrics(
  { config, logger, lifecycle }: Context,
  { database }: Resources
): Promise<ServedMetrics> {
  const metrics = new Metrics({ logger })
  const counters = startCounting(metrics)
  const countPurged = publishPurge(metrics)
  publishReservations(metrics, database)
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  if (port === undefined) return { counters, countPurged, metrics, port }
  const server = await startMetricsServer(metrics, { host, port, logger })
  lifecycle.add(server)
  return { counters, countPurged, metrics, port: server.port }
}
