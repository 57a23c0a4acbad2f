import type { Metrics } from '@open-payments-server/service-kit/metrics'
import type { Database } from '../modules/database.js'
import { measureReservations, OPEN_COUNTED_MAX } from '../modules/limits/index.js'

/** Publishes the metrics of reservations on each scrape, see `docs/metrics.md`. */
export function publishReservations(metrics: Metrics, database: Database): void {
  metrics.addGauges({
    name: 'reservations',
    gauges: {
      openCount: {
        name: 'open_payments_reservations_open',
        help: `Reservations that are neither settled nor released, counted up to ${String(OPEN_COUNTED_MAX)}.`
      },
      openOldestAgeSeconds: {
        name: 'open_payments_reservations_open_oldest_age_seconds',
        help: 'Age of the oldest reservation that is neither settled nor released; 0 when there is none.'
      }
    },
    read: () => measureReservations(database)
  })
}
