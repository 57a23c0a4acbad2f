import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { PaymentMethod } from '../domain/payment-method.js'
import {
  deliverOutcomes,
  type DeliverOutcomesDeps
} from '../features/deliver-reservation-outcomes/deliver-outcomes.js'
import { sweepOrphans, type SweepOrphansDeps } from '../features/sweep-orphans/sweep-orphans.js'

/** Most payments that one transaction settles. */
const PAYMENTS_PER_BATCH_MAX = 50

/** Most outcomes that are delivered at once. */
const OUTCOMES_PER_BATCH_MAX = 32

/** Processes pending payments as soon as it is woken, and looks for forgotten ones between. */
export function createProcessingWorker(deps: {
  methods: readonly PaymentMethod[]
  pollSeconds: number
  logger: Logger
  /** Says that there are outcomes to deliver. */
  onReservationEnded: () => void
}): Worker {
  return startWorker({
    name: 'payment processing',
    pollMs: deps.pollSeconds * 1_000,
    logger: deps.logger,
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
export function createDeliveryWorker(deps: DeliverOutcomesDeps & { pollSeconds: number }): Worker {
  return startWorker({
    name: 'reservation outcome delivery',
    pollMs: deps.pollSeconds * 1_000,
    logger: deps.logger,
    async runBatch(signal) {
      const { due, delivered } = await deliverOutcomes(OUTCOMES_PER_BATCH_MAX, deps, signal)
      return due === OUTCOMES_PER_BATCH_MAX && delivered > 0
    }
  })
}

/** Sweeps reservations that no payment came of. */
export function createSweepingWorker(
  deps: SweepOrphansDeps & { intervalSeconds: number; onReservationEnded: () => void }
): Worker {
  return startWorker({
    name: 'orphan sweeping',
    pollMs: deps.intervalSeconds * 1_000,
    logger: deps.logger,
    async runBatch() {
      if ((await sweepOrphans(deps)) > 0) deps.onReservationEnded()
      return false
    }
  })
}
