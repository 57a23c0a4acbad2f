import { inTransaction, writeTogether } from '@open-payments-server/database'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import type { FailureReason } from '../../domain/failure-reasons.js'
import type { OutgoingMethod, SendOrder, SendResult } from '../../domain/outgoing-method.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { insufficientFunds, type Settlement, settleSent } from '../../domain/settlement.js'
import type { Queries } from '../../modules/database.js'
import type { ProviderAccountDirectory } from '../../modules/ledger/index.js'
import {
  endSending,
  findHeldSendings,
  leaseDue,
  type LeasedSending,
  postponeSending,
  type SendingRoom
} from '../../modules/outgoing-payments/index.js'
import { type DoubtedDependencies, judgeDoubted } from './judge-doubted.js'
import { writeEndings } from './process-batch.js'
import { settleLeaving } from './settle-batch.js'

/**
 * How long a payment is another process's for nothing if this one disappears, in milliseconds. Longer than anything lasts between two
 * packets that are written down.
 */
export const LEASE_MS = 45_000

/** Attempts without a fulfillment, one after the other, after which a payment ends. */
const ATTEMPTS_MAX = 10
/** How long the first pause between two attempts is, and the longest, in milliseconds; each is twice as long as the one before. */
const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 60_000
/** How often it is looked whether a payment that a freeze holds could go on at all, in milliseconds. */
const HELD_PAUSE_MS = 60_000
/** How long a doubted payment waits until it is looked again whether it may be sent, in milliseconds. */
const DOUBTED_PAUSE_MS = 60_000

/** What sending payments needs. */
export interface SendDependencies extends DoubtedDependencies {
  readonly random: Random
  readonly providerAccounts: ProviderAccountDirectory
  readonly method: OutgoingMethod
  readonly counters: Pick<PaymentCounters, 'countEnded'>
  /** Whether a freeze holds the pending payments that it is about. */
  readonly holdsFrozen: boolean
}

/** How an attempt ended: `waiting` if it may not be sent yet. */
type Result = SendResult | { readonly kind: 'waiting' }

/** Sends payments that were begun. */
export interface SentPayments {
  /**
   * Takes up to `limit` payments whose next attempt is due. Those that a freeze holds are taken a minute later, to be looked at.
   *
   * @param running ids (UUID) of payments that this process sends
   */
  take(limit: number, running: readonly string[], room: SendingRoom): ReturnType<typeof leaseDue>
  /** Which of some payments (UUID) a freeze holds. */
  findHeld(running: readonly string[]): Promise<readonly string[]>
  /**
   * Makes an attempt, and ends the payment if it is over.
   *
   * @param signal ends the attempt: what is under way is waited for
   * @returns whether there is something to tell: the payment ended, or a part of it was delivered
   */
  attempt(payment: LeasedSending, signal: AbortSignal): Promise<boolean>
}

/** Sends payments on behalf of one process. */
export function createSentPayments(dependencies: SendDependencies): SentPayments {
  const { database, clock, random, holdsFrozen } = dependencies
  const end = createEnding(dependencies)
  return {
    take(limit, running, room) {
      const nowMs = clock.now()
      const lease = { leaseId: newId(clock, random), leasedUntilMs: nowMs + LEASE_MS }
      return leaseDue(database, {
        ...lease,
        limit,
        except: running,
        room,
        holdsFrozen,
        nowMs,
        heldDueBeforeMs: nowMs - HELD_PAUSE_MS
      })
    },
    async findHeld(running) {
      return holdsFrozen ? findHeldSendings(database, running) : []
    },
    async attempt(payment, signal) {
      const result = await attemptOf(payment, signal, dependencies)
      if (result.kind === 'ended') return end({ ...payment, ...result })
      const next = nextAttempt(payment.attempts, result, clock.now())
      if (next.attempts >= ATTEMPTS_MAX && result.kind === 'later' && result.isDecided)
        return end({ ...payment, ...result })
      return postponeSending(database, payment, next)
    }
  }
}

/** The result of an attempt. A payment of which more may have been sent than is written down is looked at before anything is sent. */
async function attemptOf(
  payment: LeasedSending,
  signal: AbortSignal,
  dependencies: SendDependencies
): Promise<Result> {
  const { method } = dependencies
  // Nobody would pay for what is sent. Such a payment is never begun; one may be here because it was doubted.
  if (!payment.isCovered) return method.conclude(payment, 'insufficient_funds')
  if (payment.isHeld) return method.hold(payment)
  const verdict = payment.isDoubted ? await judgeDoubted(payment, dependencies) : 'send'
  switch (verdict) {
    case 'send':
      return method.send(payment, signal)
    case 'wait':
      return { kind: 'waiting' }
    case 'conclude':
      return method.conclude(payment, 'receiver_unreachable')
  }
}

/** Which attempt comes next, counted since the last one that delivered anything, and when; none does by itself where people must decide. */
function nextAttempt(
  attempts: number,
  result: Exclude<Result, { readonly kind: 'ended' }>,
  nowMs: number
): { readonly attempts: number; readonly dueAtMs: number | undefined } {
  switch (result.kind) {
    case 'undecided':
      return { attempts, dueAtMs: undefined }
    case 'stopped':
      return { attempts, dueAtMs: nowMs }
    case 'waiting':
      return { attempts, dueAtMs: nowMs + DOUBTED_PAUSE_MS }
    case 'later': {
      const next = result.progressed ? 0 : attempts + 1
      if (next >= ATTEMPTS_MAX) return { attempts: next, dueAtMs: undefined }
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.max(0, next - 1), PAUSE_MAX_MS)
      return { attempts: next, dueAtMs: nowMs + pauseMs }
    }
  }
}

/** A payment of which nothing is sent any more. */
interface Sent extends Pick<SendOrder, 'paymentId' | 'leaseId'> {
  readonly deliveredValue: bigint
  readonly reason: FailureReason
}

/**
 * Ends payments that this process sent: those whose last attempts end together, in one transaction.
 *
 * @returns ends one: false when somebody else has taken it
 */
function createEnding({
  database,
  clock,
  random,
  providerAccounts,
  counters
}: SendDependencies): (sent: Sent) => Promise<boolean> {
  return writeTogether(async (sent: readonly Sent[]) => {
    const settlements = await inTransaction(database, async (transaction: Queries) => {
      const payments = await endSending(transaction, sent)
      if (payments.length === 0) return new Map<string, Settlement>()
      const provider = await providerAccounts.find(
        transaction,
        payments.map(({ debitAssetId }) => debitAssetId)
      )
      const resultOf = new Map(sent.map((one) => [one.leaseId + one.paymentId, one]))
      const settled = payments.map((payment) => {
        const { deliveredValue, reason } = resultOf.get(payment.leaseId + payment.id) ?? unasked(payment.id)
        // What arrived though nobody pays for it stays with the exchange account, as the provider's loss: the audit names it.
        const settlement = payment.held
          ? settleSent({ ...payment.amounts, ...payment.sending }, deliveredValue, reason)
          : insufficientFunds()
        return { payment, settlement }
      })
      await writeEndings(
        transaction,
        settleLeaving(settled, provider),
        () => newId(clock, random),
        clock.now()
      )
      return new Map(settled.map(({ payment, settlement }) => [payment.leaseId + payment.id, settlement]))
    })
    for (const { state } of settlements.values()) counters.countEnded(state)
    return sent.map(({ leaseId, paymentId }) => settlements.has(leaseId + paymentId))
  })
}

function unasked(id: string): never {
  throw new Error(`payment ${id} was to be ended by nobody`)
}
