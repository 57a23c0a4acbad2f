import type { Metrics } from '@open-payments-server/service-kit/metrics'
import type { IntrospectionAnswer, ReservationAnswer, RpcCounters } from '../domain/counters.js'

/** Publishes what `docs/metrics.md` lists of what the resource server asks. */
export function publishRpcs(metrics: Pick<Metrics, 'addCounters'>): RpcCounters {
  return {
    countReservation: metrics.addCounters<ReservationAnswer>(
      {
        name: 'open_payments_reservations_total',
        help: 'Payments that asked for room under a grant, by what they were answered.'
      },
      'outcome',
      [
        'reserved',
        'repeated',
        'mismatch',
        'other_amounts',
        'token_inactive',
        'insufficient_grant',
        'limit_exceeded',
        'outside_interval',
        'released'
      ]
    ),
    countIntrospection: metrics.addCounters<IntrospectionAnswer>(
      { name: 'open_payments_introspections_total', help: 'Introspections of tokens, by their result.' },
      'result',
      ['active', 'inactive', 'unknown', 'key_unavailable']
    )
  }
}
