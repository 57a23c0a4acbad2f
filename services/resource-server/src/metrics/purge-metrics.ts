import type { Metrics } from '@open-payments-server/service-kit/metrics'
import { PURGED_KINDS, type PurgeCounter } from '../domain/counters.js'

/** Publishes the metrics of the purge, see `docs/metrics.md`. */
export function publishPurge(metrics: Metrics): PurgeCounter {
  return metrics.addCounters(
    {
      name: 'open_payments_purged_total',
      help: 'Deleted rows: unused quotes, incoming payments that never received anything, events, and attempts to deliver them.'
    },
    'kind',
    PURGED_KINDS
  )
}
