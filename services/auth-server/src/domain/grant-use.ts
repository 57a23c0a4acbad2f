import { type Amount, type AmountWire, formatAmount } from '@open-payments-server/value-types/amounts'
import { intervalBounds, parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import type { AccessItem } from './access.js'
import type { LimitName } from './limits.js'

/** The part of a limit, in percent, from which on `grant.threshold` is told. */
export const THRESHOLD_PERCENT = 80

/** What a payment took of an access item when it was reserved. */
export interface GrantUse {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  /** URL of the wallet address it is sent from. */
  readonly walletAddress: string
  /** URL of the incoming payment being paid. */
  readonly receiver: string
  /** Place of the item in the access of the grant, from 0. */
  readonly accessIndex: number
  /** Number of the interval it was charged to; 0 for an item without one. */
  readonly intervalIndex: bigint
  /** Reserved to be debited. */
  readonly debitAmount: Amount
  /** Reserved to be received. */
  readonly receiveAmount: Amount
  /** Spent of the item in the interval, this payment included, in its debit asset. */
  readonly spentDebitValue: bigint
  /**
   * Received by payments under the item in the interval, this one included, in its receive asset; undefined if the interval's
   * counter is in another asset: then no limit is on what is received.
   */
  readonly spentReceiveValue: bigint | undefined
}

/** A use of a grant on the wire. */
export interface GrantUseWire {
  readonly paymentId: string
  readonly walletAddress: string
  readonly receiver: string
  readonly accessIndex: number
  readonly intervalStartsAt?: string
  readonly intervalEndsAt?: string
  readonly debitAmount: AmountWire
  readonly receiveAmount: AmountWire
  readonly spentDebitAmount: AmountWire
  readonly spentReceiveAmount?: AmountWire
  /** Absent without a limit; so is the other. */
  readonly remainingDebitAmount?: AmountWire
  readonly remainingReceiveAmount?: AmountWire
  /** The limits that this payment brought beyond the threshold, or used up, if that is what is told. */
  readonly limits?: readonly LimitName[]
}

/**
 * Renders a use of a grant.
 *
 * @param item the access item at its place
 * @param reachedPercent the part of a limit, in percent, that is told to be reached; undefined when only the use is told
 */
export function renderGrantUse(
  use: GrantUse,
  item: AccessItem,
  reachedPercent: number | undefined
): GrantUseWire {
  const { paymentId, walletAddress, receiver, accessIndex, debitAmount, receiveAmount } = use
  const spentDebit = { ...debitAmount, value: use.spentDebitValue }
  const spentReceive =
    use.spentReceiveValue === undefined ? undefined : { ...receiveAmount, value: use.spentReceiveValue }
  const { interval, debitAmount: debitLimit, receiveAmount: receiveLimit } = item.limits ?? {}
  return {
    paymentId,
    walletAddress,
    receiver,
    accessIndex,
    ...(interval === undefined ? {} : renderInterval(interval, use.intervalIndex)),
    debitAmount: formatAmount(debitAmount),
    receiveAmount: formatAmount(receiveAmount),
    spentDebitAmount: formatAmount(spentDebit),
    ...(spentReceive === undefined ? {} : { spentReceiveAmount: formatAmount(spentReceive) }),
    ...(debitLimit === undefined
      ? {}
      : { remainingDebitAmount: formatAmount(minus(debitLimit, spentDebit)) }),
    ...(receiveLimit === undefined || spentReceive === undefined
      ? {}
      : { remainingReceiveAmount: formatAmount(minus(receiveLimit, spentReceive)) }),
    ...(reachedPercent === undefined ? {} : { limits: reachedLimits(use, item, BigInt(reachedPercent)) })
  }
}

/** The limits of which a payment brought what is spent to a part, or beyond. The statement that reserves has the same rule. */
function reachedLimits(use: GrantUse, { limits }: AccessItem, percent: bigint): readonly LimitName[] {
  const { debitAmount, receiveAmount, spentDebitValue, spentReceiveValue } = use
  const isReached = (limit: Amount | undefined, spent: bigint | undefined, own: Amount): boolean =>
    limit !== undefined &&
    spent !== undefined &&
    spent * 100n >= limit.value * percent &&
    (spent - own.value) * 100n < limit.value * percent
  const reached: LimitName[] = []
  if (isReached(limits?.debitAmount, spentDebitValue, debitAmount)) reached.push('debitAmount')
  if (isReached(limits?.receiveAmount, spentReceiveValue, receiveAmount)) reached.push('receiveAmount')
  return reached
}

function minus(limit: Amount, spent: Amount): Amount {
  return { ...limit, value: limit.value - spent.value }
}

function renderInterval(
  text: string,
  index: bigint
): Pick<GrantUseWire, 'intervalStartsAt' | 'intervalEndsAt'> {
  const { startMs, endMs } = intervalBounds(parseRepeatingInterval(text), index)
  return { intervalStartsAt: new Date(startMs).toISOString(), intervalEndsAt: new Date(endMs).toISOString() }
}
