import { snakeCase } from '@open-payments-server/runtime'
import type { Metrics } from '@open-payments-server/service-kit/metrics'
import type { IntrospectionAnswer, ReservationAnswer, RpcCounters } from '../domain/counters.js'

const RESERVATION_ANSWERS: readonly ReservationAnswer[] = [
  'reserved',
  'repeated',
  'mismatch',
  'other-amounts',
  'inactive-token',
  'insufficient-grant',
  'limit-exceeded',
  'outside-interval',
  'client-frozen',
  'grant-paused',
  'released'
]

const INTROSPECTION_ANSWERS: readonly IntrospectionAnswer[] = [
  'active',
  'inactive',
  'unknown',
  'key-unavailable'
]

/** Publishes the metrics of the resource server's calls, see `docs/metrics.md`. */
export function publishRpcs(metrics: Pick<Metrics, 'addCounters'>): RpcCounters {
  const countReservation = metrics.addCounters(
    {
      name: 'open_payments_reservations_total',
      help: 'Payments that asked for room under a grant, by what they were answered.'
    },
    'result',
    RESERVATION_ANSWERS.map(snakeCase)
  )
  const countIntrospection = metrics.addCounters(
    { name: 'open_payments_introspections_total', help: 'Introspections of tokens, by their result.' },
    'result',
    INTROSPECTION_ANSWERS.map(snakeCase)
  )
  return {
    countReservation: (answer) => {
      countReservation(snakeCase(answer))
    },
    countIntrospection: (answer) => {
      countIntrospection(snakeCase(answer))
    }
  }
}
