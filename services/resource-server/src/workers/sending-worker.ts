import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { BegunRound } from '../features/process-outgoing-payments/begin-sending.js'
import type { SentPayments } from '../features/process-outgoing-payments/send-payments.js'
import type { LeasedSending } from '../modules/outgoing-payments/index.js'

/** Maximum number of payments that one transaction begins. */
const BEGUN_MAX = 200
/** Maximum number of payments that one process sends at a time: each waits for others most of the time. */
const AT_A_TIME_MAX = 200

/** What sending payments in the background needs. */
export interface SendingWorkerDependencies {
  /** Begins to send up to so many payments. */
  readonly beginSending: (limit: number) => Promise<BegunRound>
  readonly sentPayments: SentPayments
  readonly pollSeconds: number
  readonly logger: Logger
  readonly onBatchFailed?: (() => void) | undefined
  /** Signals that there are outcomes to deliver, and events to publish. */
  readonly onPaymentsEnded: () => void
}

/**
 * Begins and sends payments to other providers when woken, and looks for those whose next attempt is due in between. An attempt takes as long
 * as others take to answer, so attempts run beside each other. Stopping ends them, and waits for what is under way.
 */
export function createSendingWorker(dependencies: SendingWorkerDependencies): Worker {
  const { beginSending, sentPayments, logger, onPaymentsEnded } = dependencies
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()

  const attempt = async (payment: LeasedSending): Promise<void> => {
    try {
      if (await sentPayments.attempt(payment, stopping.signal)) onPaymentsEnded()
    } catch (error) {
      // The lease ends by itself, and what the journal has stands: another attempt goes on from there.
      logger.error({ err: error, paymentId: payment.paymentId }, 'an attempt to send a payment failed')
      dependencies.onBatchFailed?.()
    }
  }
  const start = (payment: LeasedSending): void => {
    const attempting = attempt(payment).finally(() => {
      running.delete(attempting)
      worker.wake()
    })
    running.add(attempting)
  }

  const worker = startWorker({
    name: 'payment sending',
    pollMs: dependencies.pollSeconds * 1_000,
    logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      const { found, begun, ended } = await beginSending(BEGUN_MAX)
      if (ended > 0) onPaymentsEnded()
      const room = AT_A_TIME_MAX - running.size
      const taken = room === 0 ? [] : await sentPayments.take(room)
      taken.forEach(start)
      return (found === BEGUN_MAX && begun + ended > 0) || (room > 0 && taken.length === room)
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
