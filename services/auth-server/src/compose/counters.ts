import {
  type FailureCounters,
  type Metrics,
  publishFailures,
  publishWebhooks
} from '@open-payments-server/service-kit/metrics'
import { publishEventMetrics } from '@open-payments-server/service-kit/events'
import { COUNTED_OPERATIONS } from '@open-payments-server/shared-store'
import type {
  AuthenticationFailureCounter,
  GrantCounters,
  KeyLookupCounter,
  PurgeCounter,
  RpcCounters
} from '../domain/counters.js'
import { publishAuthenticationFailures } from '../metrics/authentication-metrics.js'
import { publishKeyLookups } from '../metrics/directory-metrics.js'
import { publishGrants } from '../metrics/grant-metrics.js'
import { publishPurge } from '../metrics/purge-metrics.js'
import { publishReservations } from '../metrics/reservation-metrics.js'
import { publishRpcs } from '../metrics/rpc-metrics.js'
import { EVENT_TYPES, type EventType } from '../domain/event-types.js'
import type { Database } from '../modules/database.js'

/** The background workers. */
const WORKERS = ['publishing', 'webhooks', 'expiries', 'purge'] as const

/** All counters of features, by subject. */
export interface Counters
  extends
    GrantCounters,
    RpcCounters,
    FailureCounters<(typeof WORKERS)[number], (typeof COUNTED_OPERATIONS)[number]> {
  readonly countAuthenticationFailure: AuthenticationFailureCounter
  readonly countKeyLookup: KeyLookupCounter
  readonly countPurged: PurgeCounter
  readonly countWebhookAttempt: ReturnType<typeof publishWebhooks>
  /** Events of a type were published. */
  readonly countPublished: (type: EventType, count: number) => void
}

/** Starts counting. */
export function startCounting(metrics: Metrics, database: Database): Counters {
  publishReservations(metrics, database)
  return {
    ...publishGrants(metrics),
    ...publishRpcs(metrics),
    ...publishFailures(metrics, { workers: WORKERS, operations: COUNTED_OPERATIONS }),
    countAuthenticationFailure: publishAuthenticationFailures(metrics),
    countKeyLookup: publishKeyLookups(metrics),
    countPurged: publishPurge(metrics),
    countWebhookAttempt: publishWebhooks(metrics, database),
    countPublished: publishEventMetrics(metrics, database, Object.keys(EVENT_TYPES) as EventType[])
  }
}
