import type { Metrics } from '@open-payments-server/service-kit/metrics'

/** How many clients wait, by how they wait. */
type WaitingCounts = Readonly<Record<'request' | 'stream', number>>

/**
 * Publishes the metrics of waiting clients, see `docs/metrics.md`.
 *
 * @param read how many wait now
 */
export function publishWaiting(metrics: Pick<Metrics, 'addLiveGauges'>, read: () => WaitingCounts): void {
  metrics.addLiveGauges(
    { name: 'open_payments_waiting_clients', help: 'Clients that wait for changes, by how they wait.' },
    'kind',
    read
  )
}

/** Counts clients that could not wait, by whose limit was reached. */
export function publishWaitingRefused(
  metrics: Pick<Metrics, 'addCounters'>
): (of: 'client' | 'replica') => void {
  return metrics.addCounters(
    {
      name: 'open_payments_waiting_refused_total',
      help: 'Requests to wait that were refused, by whose limit was reached.'
    },
    'limit',
    ['client', 'replica']
  )
}
