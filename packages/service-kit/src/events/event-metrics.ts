import type { RawQueries } from '@open-payments-server/database'
import { measureEvents } from '@open-payments-server/events'
import type { Metrics } from '../metrics/index.js'

/**
 * Publishes the metrics of events, see `docs/metrics.md`.
 *
 * @param types all types of events of the service
 * @returns counts published events of a type
 */
export function publishEventMetrics<Type extends string>(
  metrics: Pick<Metrics, 'addGauges' | 'addCounters'>,
  database: RawQueries,
  types: readonly Type[]
): (type: Type, count: number) => void {
  metrics.addGauges({
    name: 'events',
    gauges: {
      unpublishedOldestAgeSeconds: {
        name: 'open_payments_events_unpublished_oldest_age_seconds',
        help: 'Time since the oldest event happened that is not published; 0 when there is none.'
      }
    },
    read: async () => ({ ...(await measureEvents(database)) })
  })
  return metrics.addCounters(
    { name: 'open_payments_events_published_total', help: 'Published events, by their type.' },
    'type',
    types
  )
}
