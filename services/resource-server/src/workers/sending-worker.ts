import { setMaxListeners } from 'node:events'
import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { BegunRound } from '../features/process-outgoing-payments/begin-sending.js'
import type { SentPayments } from '../features/process-outgoing-payments/send-payments.js'
import type { LeasedSending } from '../modules/outgoing-payments/index.js'

/** Maximum number of payments that one process sends at a time: each waits for others most of the time. */
export const AT_A_TIME_MAX = 200

/**
 * Maximum number of these that are not new: payments to those who do not answer, which are tried again and again, must not keep others from
 * being sent.
 */
export const DUE_AT_A_TIME_MAX = 100

/** What sending payments in the background needs. */
export interface SendingWorkerDependencies {
  /** Begins to send payments, of which this process has room for so many. */
  readonly beginSending: (room: number) => Promise<BegunRound>
  readonly sentPayments: SentPayments
  readonly pollSeconds: number
  readonly logger: Logger
  readonly onBatchFailed?: (() => void) | undefined
  /** Signals that there are outcomes to deliver, or events to publish. */
  readonly onPaymentsEnded: () => void
}

/**
 * Begins and sends payments to other providers when woken, and looks for those whose next attempt is due in between. An attempt takes as long
 * as others take to answer, so attempts run beside each other. Stopping ends them, and waits for what is under way.
 */
export function createSendingWorker(dependencies: SendingWorkerDependencies): Worker {
  const { beginSending, sentPayments, logger, onPaymentsEnded } = dependencies
  const stopping = new AbortController()
  setMaxListeners(AT_A_TIME_MAX, stopping.signal)
  const running = new Set<Promise<void>>()
  let dueRunning = 0

  const attempt = async (payment: LeasedSending): Promise<void> => {
    try {
      if (await sentPayments.attempt(payment, stopping.signal)) onPaymentsEnded()
    } catch (error) {
      // The lease ends by itself, and what the journal has stands: another attempt goes on from there.
      logger.error({ err: error, paymentId: payment.paymentId }, 'an attempt to send a payment failed')
      dependencies.onBatchFailed?.()
    }
  }
  const roomForDue = (): number => Math.min(AT_A_TIME_MAX - running.size, DUE_AT_A_TIME_MAX - dueRunning)
  const start = (payment: LeasedSending): void => {
    const dueCount = payment.isNew ? 0 : 1
    const attempting = attempt(payment).finally(() => {
      const wasFull = roomForDue() === 0
      running.delete(attempting)
      dueRunning -= dueCount
      // Others may have waited for room.
      if (wasFull) worker.wake()
    })
    running.add(attempting)
    dueRunning += dueCount
  }

  const worker = startWorker({
    name: 'payment sending',
    pollMs: dependencies.pollSeconds * 1_000,
    logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      const { leased, ended, isMore } = await beginSending(AT_A_TIME_MAX - running.size)
      if (ended > 0) onPaymentsEnded()
      leased.forEach(start)
      const room = roomForDue()
      const due = room === 0 ? [] : await sentPayments.take(room)
      due.forEach(start)
      return isMore || (room > 0 && due.length === room)
    }
  })
  return {
    name: worker.name,
    wake: () => {
      worker.wake()
    },
    async stop() {
      stopping.abort()
      await worker.stop()
      await Promise.all(running)
    }
  }
}
