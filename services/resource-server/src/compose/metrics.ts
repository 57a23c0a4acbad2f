import { Metrics, serveMetrics } from '@open-payments-server/service-kit/metrics'
import type { Context } from './context.js'
import { startCounting } from './counters.js'
import type { Resources } from './resources.js'

export type ServedMetrics = Awaited<ReturnType<typeof startMetrics>>

/** Starts counting, and listens for scrapes if a port is set. */
export async function startMetrics(context: Context, { database }: Resources) {
  const metrics = new Metrics(context)
  const counters = startCounting(metrics, database, context.config.FREEZE_PENDING_PAYMENTS === 'hold')
  return { metrics, counters, port: await serveMetrics(metrics, context) }
}
