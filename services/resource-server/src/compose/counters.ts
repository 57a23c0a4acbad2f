import {
  type FailureCounters,
  type Metrics,
  publishFailures,
  publishWebhooks
} from '@open-payments-server/service-kit/metrics'
import { publishEventMetrics } from '@open-payments-server/service-kit/events'
import { COUNTED_OPERATIONS } from '@open-payments-server/shared-store'
import {
  type AuthenticationFailureCounter,
  type FailedBatchCounter,
  type PurgeCounter,
  type TokenLookupCounter,
  WORKERS
} from '../domain/counters.js'
import type { PaymentCounters } from '../domain/payment-counters.js'
import { publishAuthenticationFailures, publishTokenLookups } from '../metrics/authentication-metrics.js'
import { publishPackets, publishSentPackets } from '../metrics/packet-metrics.js'
import { publishPayments } from '../metrics/payment-metrics.js'
import { publishPurge } from '../metrics/purge-metrics.js'
import type { SentPacketCounters } from '../domain/packet-counters.js'
import { EVENT_TYPES, type EventType } from '../domain/event-types.js'
import type { Database } from '../modules/database.js'

/** All counters of features, by subject. */
export interface Counters
  extends
    PaymentCounters,
    SentPacketCounters,
    FailureCounters<Parameters<FailedBatchCounter>[0], (typeof COUNTED_OPERATIONS)[number]> {
  readonly countAuthenticationFailure: AuthenticationFailureCounter
  readonly countTokenLookup: TokenLookupCounter
  readonly countPurged: PurgeCounter
  readonly countWebhookAttempt: ReturnType<typeof publishWebhooks>
  /** A packet of a peer was answered with this: `fulfill`, or the code of a reject. */
  readonly countPacket: (result: string) => void
  /** Events of a type were published. */
  readonly countPublished: (type: EventType, count: number) => void
}

/**
 * Starts counting.
 *
 * @param holdsFrozen whether a freeze holds the pending payments that it is about
 */
export function startCounting(metrics: Metrics, database: Database, holdsFrozen: boolean): Counters {
  return {
    ...publishPayments(metrics, database, holdsFrozen),
    ...publishFailures(metrics, { workers: WORKERS, operations: COUNTED_OPERATIONS }),
    ...publishSentPackets(metrics),
    countPacket: publishPackets(metrics),
    countAuthenticationFailure: publishAuthenticationFailures(metrics),
    countTokenLookup: publishTokenLookups(metrics),
    countPurged: publishPurge(metrics),
    countWebhookAttempt: publishWebhooks(metrics, database),
    countPublished: publishEventMetrics(metrics, database, Object.keys(EVENT_TYPES) as EventType[])
  }
}
