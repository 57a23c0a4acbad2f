import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { PaymentCounters } from '../domain/payment-counters.js'
import { AuthServerUnavailable, ENDS_MAX } from '../domain/ports.js'
import type { PaymentMethod } from '../modules/outgoing-payments/index.js'
import {
  deliverOutcomes,
  type DeliverOutcomesDeps
} from '../features/deliver-reservation-outcomes/deliver-outcomes.js'
import { sweepOrphans, type SweepOrphansDeps } from '../features/sweep-orphans/sweep-orphans.js'

/** Most payments that one transaction settles. */
const PAYMENTS_PER_BATCH_MAX = 200

/**
 * Least time between two batches of a worker that is woken for each payment, in milliseconds: while many arrive, a batch costs
 * little more than a payment. A payment that comes alone is processed at once, one among many at most this much later.
 */
const REST_MS = 100

/** Most open reservations that one sweep looks at. */
const RESERVATIONS_PER_SWEEP_MAX = 1_000

/** Processes pending payments as soon as it is woken, and looks for forgotten ones between. */
export function createProcessingWorker(deps: {
  methods: readonly PaymentMethod[]
  pollSeconds: number
  logger: Logger
  onBatchFailed?: (() => void) | undefined
  /** Says that there are outcomes to deliver. */
  onReservationEnded: () => void
}): Worker {
  return startWorker({
    name: 'payment processing',
    pollMs: deps.pollSeconds * 1_000,
    restMs: REST_MS,
    logger: deps.logger,
    onBatchFailed: deps.onBatchFailed,
    async runBatch() {
      let more = false
      for (const method of deps.methods) {
        const { found, ended } = await method.processPending(PAYMENTS_PER_BATCH_MAX)
        if (ended > 0) deps.onReservationEnded()
        more ||= found === PAYMENTS_PER_BATCH_MAX && ended > 0
      }
      return more
    }
  })
}

/** Delivers what became of payments to the auth server. */
export function createDeliveryWorker(
  deps: DeliverOutcomesDeps & { pollSeconds: number; onBatchFailed?: (() => void) | undefined }
): Worker {
  return startWorker({
    name: 'reservation outcome delivery',
    pollMs: deps.pollSeconds * 1_000,
    restMs: REST_MS,
    logger: deps.logger,
    onBatchFailed: deps.onBatchFailed,
    async runBatch(signal) {
      const { due, delivered } = await deliverOutcomes(ENDS_MAX, deps, signal)
      return due === ENDS_MAX && delivered > 0
    }
  })
}

/**
 * Sweeps reservations that no payment came of: page by page through all that are open, then again after the interval.
 * When the auth server falls silent between two pages, the next attempt goes on where this one was.
 */
export function createSweepingWorker(
  deps: SweepOrphansDeps & {
    intervalSeconds: number
    onBatchFailed?: (() => void) | undefined
    onReservationEnded: () => void
    readonly counters: Pick<PaymentCounters, 'showHeld'>
    /** How many reservations are looked at together; {@link RESERVATIONS_PER_SWEEP_MAX} unless given. */
    pageSize?: number
  }
): Worker {
  const { pageSize = RESERVATIONS_PER_SWEEP_MAX } = deps
  let pageToken: string | undefined
  let heldBefore = 0
  return startWorker({
    name: 'orphan sweeping',
    pollMs: deps.intervalSeconds * 1_000,
    logger: deps.logger,
    onBatchFailed: deps.onBatchFailed,
    async runBatch() {
      try {
        const { givenUp, held, nextPageToken } = await sweepOrphans(deps, { pageSize, pageToken })
        heldBefore = (pageToken === undefined ? 0 : heldBefore) + held
        pageToken = nextPageToken
        if (pageToken === undefined) deps.counters.showHeld(heldBefore)
        if (givenUp > 0) deps.onReservationEnded()
      } catch (error) {
        // A place that the auth server does not know any more must not keep the sweep from ever going on.
        if (!(error instanceof AuthServerUnavailable)) pageToken = undefined
        throw error
      }
      return pageToken !== undefined
    }
  })
}
