import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { PaymentCounters } from '../domain/payment-counters.js'
import { AuthServerUnavailable, ENDS_MAX } from '../domain/ports.js'
import { declineOverdue } from '../features/approve-payments/decide.js'
import type { DecideDependencies } from '../features/approve-payments/dependencies.js'
import {
  deliverOutcomes,
  type DeliverOutcomesDependencies
} from '../features/deliver-reservation-outcomes/deliver-outcomes.js'
import type { LocalPayments } from '../features/process-outgoing-payments/local-payments.js'
import {
  oldestOf,
  sweepOrphans,
  type SweepOrphansDependencies
} from '../features/sweep-orphans/sweep-orphans.js'

/** Maximum number of payments that one transaction settles. */
const PAYMENTS_PER_BATCH_MAX = 200

/**
 * Minimum time between two batches of a worker that each payment wakes, in milliseconds: under load, a batch costs little
 * more than a payment. A single payment is processed at once, one among many at most this much later.
 */
const REST_MS = 100

/** Maximum number of open reservations that one sweep checks. */
const RESERVATIONS_PER_SWEEP_MAX = 1_000

/** Processes pending payments to receivers hosted here when woken, and looks for forgotten ones in between. */
export function createProcessingWorker(dependencies: {
  localPayments: LocalPayments
  pollSeconds: number
  logger: Logger
  onBatchFailed?: (() => void) | undefined
  /** Signals that there are outcomes to deliver, and events to publish. */
  onPaymentsEnded: () => void
}): Worker {
  return startWorker({
    name: 'payment processing',
    pollMs: dependencies.pollSeconds * 1_000,
    restMs: REST_MS,
    logger: dependencies.logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      const { found, ended } = await dependencies.localPayments.processPending(PAYMENTS_PER_BATCH_MAX)
      if (ended > 0) dependencies.onPaymentsEnded()
      return found === PAYMENTS_PER_BATCH_MAX && ended > 0
    }
  })
}

/** Declines payments that nobody decided about in time. */
export function createApprovalWorker(
  dependencies: DecideDependencies & {
    pollSeconds: number
    onBatchFailed?: (() => void) | undefined
  }
): Worker {
  return startWorker({
    name: 'approval timeout',
    pollMs: dependencies.pollSeconds * 1_000,
    logger: dependencies.logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      return (await declineOverdue(PAYMENTS_PER_BATCH_MAX, dependencies)) === PAYMENTS_PER_BATCH_MAX
    }
  })
}

/** Delivers outcomes to the auth server. */
export function createDeliveryWorker(
  dependencies: DeliverOutcomesDependencies & {
    pollSeconds: number
    onBatchFailed?: (() => void) | undefined
  }
): Worker {
  return startWorker({
    name: 'reservation outcome delivery',
    pollMs: dependencies.pollSeconds * 1_000,
    restMs: REST_MS,
    logger: dependencies.logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch(signal) {
      const { due, delivered } = await deliverOutcomes({ limit: ENDS_MAX, signal }, dependencies)
      return due === ENDS_MAX && delivered > 0
    }
  })
}

/**
 * Sweeps reservations without a payment: page by page through all open ones, then again after the interval. If the auth
 * server fails between two pages, the next attempt continues where this one stopped.
 */
export function createSweepingWorker(
  dependencies: SweepOrphansDependencies & {
    intervalSeconds: number
    onBatchFailed?: (() => void) | undefined
    onReservationEnded: () => void
    readonly counters: Pick<PaymentCounters, 'showKeptForOperator' | 'showUnsettledSince'>
    /** Number of reservations checked together; default {@link RESERVATIONS_PER_SWEEP_MAX}. */
    pageSize?: number
  }
): Worker {
  const { pageSize = RESERVATIONS_PER_SWEEP_MAX } = dependencies
  let pageToken: string | undefined
  let keptBefore = 0
  let unsettledSinceMs: number | undefined
  return startWorker({
    name: 'orphan sweeping',
    pollMs: dependencies.intervalSeconds * 1_000,
    logger: dependencies.logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      try {
        const swept = await sweepOrphans({ pageSize, pageToken }, dependencies)
        const isFirst = pageToken === undefined
        keptBefore = (isFirst ? 0 : keptBefore) + swept.keptForOperator
        unsettledSinceMs = oldestOf([isFirst ? undefined : unsettledSinceMs, swept.unsettledSinceMs])
        pageToken = swept.nextPageToken
        if (pageToken === undefined) {
          dependencies.counters.showKeptForOperator(keptBefore)
          dependencies.counters.showUnsettledSince(unsettledSinceMs)
        }
        if (swept.givenUp > 0) dependencies.onReservationEnded()
      } catch (error) {
        // A page token that the auth server no longer knows must not block the sweep for ever.
        if (!(error instanceof AuthServerUnavailable)) pageToken = undefined
        throw error
      }
      return pageToken !== undefined
    }
  })
}
