import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import type { BeginSending } from '../features/process-outgoing-payments/begin-sending.js'
import type { SentPayments } from '../features/process-outgoing-payments/send-payments.js'
import {
  isFull,
  type LeasedSending,
  payerKey,
  type PayerOverPeer,
  type SendingRoom
} from '../modules/outgoing-payments/index.js'

/** Maximum number of payments that one process sends at a time: each waits for others most of the time. */
export const AT_A_TIME_MAX = 200

/**
 * Maximum number of these that are new, and that are not: payments to those who do not answer, which are tried again and again, must not keep
 * others from being sent, nor must new ones keep others from being tried again.
 */
export const NEW_AT_A_TIME_MAX = 150
export const DUE_AT_A_TIME_MAX = 100

/** How long an attempt goes on before it is looked whether a freeze holds its payment, and how often then, in milliseconds. */
const HELD_AFTER_MS = 1_000

const NONE = { found: 0, leased: [] } as const

/** An attempt that this process makes. */
interface Running {
  readonly ended: Promise<void>
  readonly stopping: AbortController
  readonly payer: PayerOverPeer
  /** As `performance.now` has it. */
  readonly startedMs: number
}

/** What sending payments in the background needs. */
export interface SendingWorkerDependencies {
  readonly beginSending: BeginSending
  readonly sentPayments: SentPayments
  readonly pollSeconds: number
  readonly logger: Logger
  readonly onBatchFailed?: (() => void) | undefined
  /** Signals that there are outcomes to deliver, or events to publish. */
  readonly onPaymentsEnded: () => void
}

/**
 * Begins and sends payments to other providers when woken, and looks for those whose next attempt is due in between. An attempt takes as long
 * as others take to answer, so attempts run beside each other. One whose payment a freeze holds meanwhile is ended. Stopping ends all, and
 * waits for what is under way.
 */
export function createSendingWorker(dependencies: SendingWorkerDependencies): Worker {
  const { beginSending, sentPayments, logger, onPaymentsEnded } = dependencies
  let isStopping = false
  /** By the ids of their payments. */
  const running = new Map<string, Running>()
  let dueRunning = 0
  const endHeld = createEndingHeld(running, sentPayments)

  const attempt = async (payment: LeasedSending, signal: AbortSignal): Promise<void> => {
    try {
      if (await sentPayments.attempt(payment, signal)) onPaymentsEnded()
    } catch (error) {
      // The lease ends by itself, and what the journal has stands: another attempt goes on from there.
      logger.error({ err: error, paymentId: payment.paymentId }, 'an attempt to send a payment failed')
      dependencies.onBatchFailed?.()
    }
  }
  const roomFor = (kind: 'new' | 'due'): number => {
    const [max, count] =
      kind === 'new' ? [NEW_AT_A_TIME_MAX, running.size - dueRunning] : [DUE_AT_A_TIME_MAX, dueRunning]
    return Math.min(AT_A_TIME_MAX - running.size, max - count)
  }
  const start = (payment: LeasedSending): void => {
    const dueCount = payment.isNew ? 0 : 1
    const stopping = new AbortController()
    const payer = { peerId: payment.sending.peerId, walletAddressId: payment.walletAddressId }
    if (isStopping) stopping.abort()
    const ended = attempt(payment, stopping.signal).finally(() => {
      const wasFull = isFull(roomBeside(running), payer) || roomFor('new') === 0 || roomFor('due') === 0
      running.delete(payment.paymentId)
      dueRunning -= dueCount
      // Others may have waited for room.
      if (wasFull) worker.wake()
    })
    running.set(payment.paymentId, { ended, stopping, payer, startedMs: performance.now() })
    dueRunning += dueCount
  }

  const worker = startWorker({
    name: 'payment sending',
    pollMs: dependencies.pollSeconds * 1_000,
    logger,
    onBatchFailed: dependencies.onBatchFailed,
    async runBatch() {
      await endHeld()
      const { leased, ended, isMore } = await beginSending(roomFor('new'), roomBeside(running))
      if (ended > 0) onPaymentsEnded()
      leased.forEach(start)
      const limit = roomFor('due')
      const due =
        limit === 0 ? NONE : await sentPayments.take(limit, [...running.keys()], roomBeside(running))
      due.leased.forEach(start)
      return isMore || (due.found === limit && due.leased.length > 0)
    }
  })
  return {
    name: worker.name,
    wake: () => {
      worker.wake()
    },
    async stop() {
      isStopping = true
      for (const { stopping } of running.values()) stopping.abort()
      await worker.stop()
      await Promise.all([...running.values()].map(({ ended }) => ended))
    }
  }
}

function roomBeside(running: ReadonlyMap<string, Running>): SendingRoom {
  const sentTo = new Map<string, number>()
  const sentFrom = new Map<string, number>()
  const countIn = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
  for (const { payer } of running.values()) {
    countIn(sentTo, payer.peerId)
    countIn(sentFrom, payerKey(payer))
  }
  return { free: AT_A_TIME_MAX - running.size, sentTo, sentFrom }
}

/** Ends attempts whose payments a freeze holds: those that have gone on for long enough to be looked at. */
function createEndingHeld(
  running: ReadonlyMap<string, Running>,
  sentPayments: Pick<SentPayments, 'findHeld'>
): () => Promise<void> {
  let lookedForMs = -Infinity
  return async () => {
    const nowMs = performance.now()
    if (nowMs - lookedForMs < HELD_AFTER_MS) return
    const long = [...running].filter(([, { startedMs }]) => nowMs - startedMs >= HELD_AFTER_MS)
    if (long.length === 0) return
    lookedForMs = nowMs
    const held = await sentPayments.findHeld(long.map(([paymentId]) => paymentId))
    for (const paymentId of held) running.get(paymentId)?.stopping.abort()
  }
}
