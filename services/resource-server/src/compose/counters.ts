import {
  type FailureCounters,
  type Metrics,
  publishFailures
} from '@open-payments-server/service-kit/metrics'
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
import { publishPayments } from '../metrics/payment-metrics.js'
import { publishPurge } from '../metrics/purge-metrics.js'
import type { Database } from '../modules/database.js'

/** All counters of features, by subject. */
export interface Counters
  extends
    PaymentCounters,
    FailureCounters<Parameters<FailedBatchCounter>[0], (typeof COUNTED_OPERATIONS)[number]> {
  readonly countAuthenticationFailure: AuthenticationFailureCounter
  readonly countTokenLookup: TokenLookupCounter
  readonly countPurged: PurgeCounter
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
    countAuthenticationFailure: publishAuthenticationFailures(metrics),
    countTokenLookup: publishTokenLookups(metrics),
    countPurged: publishPurge(metrics)
  }
}
