import { type ReceiverRoom, roomOf } from '../../domain/receiver.js'
import {
  frozenTooLong,
  insufficientFunds,
  notBegun,
  settle,
  type Settlement
} from '../../domain/settlement.js'
import type { LockedReceiver } from '../../modules/incoming-payments/index.js'
import {
  accountsIn,
  type AccountTotals,
  ChangedTotals,
  type PostedTransfer,
  type ProviderAccounts
} from '../../modules/ledger/index.js'
import type { ClaimedLocalPayment, ClaimedPayment, Ending } from '../../modules/outgoing-payments/index.js'
import type { RefundEnding } from '../../modules/refunds/index.js'

/** A transfer to be written, without an id yet. */
export type SettledTransfer = Omit<PostedTransfer, 'id'>

/** All changes of a batch of payments. */
export interface SettledBatch {
  readonly endings: readonly Ending[]
  /** How the refunds end that its payments make. */
  readonly refundEndings: readonly RefundEnding[]
  readonly transfers: readonly SettledTransfer[]
  readonly totals: readonly AccountTotals[]
  /** What each incoming payment receives, by its id. */
  readonly received: ReadonlyMap<string, bigint>
  /** Number of incoming payments that have received their full amount by it. */
  readonly filledCount: number
}

/**
 * Settles a batch of payments one after the other, as if each were alone: what one delivers is no longer available as room
 * for the next.
 *
 * @param receivers the incoming payments, locked, by id; those that do not exist are missing
 * @param provider the provider's accounts, by asset id
 */
export function settleBatch(
  payments: readonly ClaimedLocalPayment[],
  receivers: ReadonlyMap<string, LockedReceiver>,
  provider: ReadonlyMap<number, ProviderAccounts>,
  nowMs: number
): SettledBatch {
  const received = new Map<string, bigint>()
  const totals = new ChangedTotals()
  const settled = payments.map((payment) => {
    const receiver = receivers.get(payment.incomingPaymentId ?? '')
    const already = received.get(payment.incomingPaymentId ?? '') ?? 0n
    const settlement = settlementOf(payment, receiver && roomOf(after(receiver, already), nowMs), nowMs)
    if (payment.held) {
      totals.change(payment.senderAccountId, {
        debitsPending: -payment.amounts.debitValue,
        debitsPosted: settlement.settledDebitValue
      })
    }
    if (receiver !== undefined && settlement.settledReceiveValue > 0n) {
      received.set(receiver.id, already + settlement.settledReceiveValue)
      totals.change(receiver.accountId, { creditsPosted: settlement.settledReceiveValue })
    }
    return { payment, receiver, settlement }
  })
  return {
    endings: settled.map(({ payment, settlement }) => ({ id: payment.id, held: payment.held, settlement })),
    refundEndings: settled.flatMap(({ payment, settlement }) => refundEndingOf(payment, settlement)),
    transfers: settled.flatMap(({ payment, receiver, settlement }) =>
      receiver === undefined ? [] : transfersOf(payment, receiver, settlement, provider)
    ),
    totals: totals.changes(),
    received,
    filledCount: [...received].filter(([id, value]) => isFilled(receivers.get(id), value, nowMs)).length
  }
}

function settlementOf(
  { held, frozen, amounts, settleUntilMs }: ClaimedLocalPayment,
  room: ReceiverRoom | undefined,
  nowMs: number
): Settlement {
  if (!held) return insufficientFunds()
  if (frozen) return frozenTooLong()
  if (settleUntilMs !== undefined && settleUntilMs <= nowMs) return notBegun(false)
  return settle(amounts, room)
}

/** How the refund ends that a payment makes: it takes what the payment debited without its fee. */
function refundEndingOf({ id, refundOf, amounts }: ClaimedPayment, settlement: Settlement): RefundEnding[] {
  if (refundOf === undefined) return []
  const value = amounts.debitValue - amounts.feeValue
  const settledValue = settlement.settledDebitValue - settlement.settledFeeValue
  return [{ id, refundOf, value, settledValue, returnedValue: settlement.settledReceiveValue }]
}

/** A receiver after it has received another value. */
function after(receiver: LockedReceiver, value: bigint): LockedReceiver {
  return { ...receiver, receivedValue: receiver.receivedValue + value }
}

/** Whether this completes what it can take. */
function isFilled(receiver: LockedReceiver | undefined, received: bigint, nowMs: number): boolean {
  return receiver !== undefined && roomOf(after(receiver, received), nowMs).completed
}

/**
 * Distributes the money that the hold brought into clearing: the fee to fees, the rest to the receiver. In another asset it
 * goes through the exchange accounts, so that each transfer stays in one asset.
 */
function transfersOf(
  payment: ClaimedPayment,
  receiver: LockedReceiver,
  { settledDebitValue, settledFeeValue, settledReceiveValue }: Settlement,
  provider: ReadonlyMap<number, ProviderAccounts>
): SettledTransfer[] {
  if (settledReceiveValue === 0n) return []
  const source = accountsIn(payment.debitAssetId, provider)
  const from = { paymentId: payment.id, debitAccountId: source.clearing, assetId: payment.debitAssetId }
  const fees = feeTransfersOf(payment, settledFeeValue, source)
  if (payment.debitAssetId === payment.receiveAssetId) {
    // Clearing must be left unchanged: any difference would be money from nowhere.
    if (settledDebitValue !== settledFeeValue + settledReceiveValue)
      throw new Error(`payment ${payment.id} does not add up in its asset`)
    const creditAccountId = receiver.accountId
    return [
      ...fees,
      {
        ...from,
        kind: 'delivery',
        creditAccountId,
        amount: settledReceiveValue,
        incomingPaymentId: receiver.id
      }
    ]
  }
  const target = accountsIn(payment.receiveAssetId, provider)
  return [
    ...fees,
    exchangeTransferOf(payment, settledDebitValue - settledFeeValue, source),
    {
      kind: 'conversion',
      paymentId: payment.id,
      debitAccountId: target.exchange,
      creditAccountId: receiver.accountId,
      assetId: payment.receiveAssetId,
      amount: settledReceiveValue,
      incomingPaymentId: receiver.id
    }
  ]
}

function feeTransfersOf(
  { id, debitAssetId }: ClaimedPayment,
  amount: bigint,
  { clearing, fees }: ProviderAccounts
): SettledTransfer[] {
  if (amount === 0n) return []
  return [
    {
      kind: 'fee',
      paymentId: id,
      debitAccountId: clearing,
      creditAccountId: fees,
      assetId: debitAssetId,
      amount,
      incomingPaymentId: undefined
    }
  ]
}

function exchangeTransferOf(
  { id, debitAssetId }: ClaimedPayment,
  amount: bigint,
  { clearing, exchange }: ProviderAccounts
): SettledTransfer {
  return {
    kind: 'delivery',
    paymentId: id,
    debitAccountId: clearing,
    creditAccountId: exchange,
    assetId: debitAssetId,
    amount,
    incomingPaymentId: undefined
  }
}

/**
 * Ends payments that leave this provider, or do not, as {@link settleBatch} ends those that stay: what they brought goes to the fees and
 * the exchange account, whatever was sent from there.
 *
 * @param provider the provider's accounts, by asset id
 */
export function settleLeaving(
  leaving: readonly { readonly payment: ClaimedPayment; readonly settlement: Settlement }[],
  provider: ReadonlyMap<number, ProviderAccounts>
): SettledBatch {
  const totals = new ChangedTotals()
  for (const { payment, settlement } of leaving) {
    if (!payment.held) continue
    totals.change(payment.senderAccountId, {
      debitsPending: -payment.amounts.debitValue,
      debitsPosted: settlement.settledDebitValue
    })
  }
  return {
    endings: leaving.map(({ payment, settlement }) => ({ id: payment.id, held: payment.held, settlement })),
    refundEndings: leaving.flatMap(({ payment, settlement }) => refundEndingOf(payment, settlement)),
    transfers: leaving.flatMap(({ payment, settlement }) => {
      const { settledDebitValue, settledFeeValue } = settlement
      if (settledDebitValue === 0n) return []
      const source = accountsIn(payment.debitAssetId, provider)
      return [
        ...feeTransfersOf(payment, settledFeeValue, source),
        exchangeTransferOf(payment, settledDebitValue - settledFeeValue, source)
      ]
    }),
    totals: totals.changes(),
    received: new Map(),
    filledCount: 0
  }
}
