import { type Amount, isSameAsset, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { intervalIndexAt, nextIntervalStart } from '@open-payments-server/value-types/intervals'
import { type Coverage, coversCreation, type LimitName, type PaymentContent, unmetLimits } from './limits.js'
import type { GrantedAccessItem } from './token-record.js'

/** What is counted for an access item in its current interval. */
export interface CountedAmounts {
  /** Id of the access item (UUID). */
  readonly accessItemId: string
  /** A window counts one debit asset. */
  readonly spentDebitAmount: Amount
  /** Only payments in this asset are counted. */
  readonly spentReceiveAmount: Amount
}

/** What still fits under a grant that refused a payment. */
export interface Remaining {
  /** Maximum of one payment, in its debit asset; undefined when nothing limits it to less than the refused one. */
  readonly debitValue: bigint | undefined
  /** Maximum of one payment, in its receive asset; undefined when nothing limits it to less than the refused one. */
  readonly receiveValue: bigint | undefined
  /** When the next interval begins, in milliseconds since 1970; undefined when none does. */
  readonly nextIntervalAtMs: number | undefined
}

/** The access item that refuses a payment, and by which of its limits. */
export interface RefusingItem {
  /** Its place in the access of the token, from 0. */
  readonly accessIndex: number
  /**
   * An amount is named for its asset or its value, also if no limit names it: a window counts one debit asset, and never
   * more than the largest value.
   */
  readonly limits: readonly LimitName[]
}

/** Why a grant does not allow a payment: for its token holder alone. */
export interface RefusalDetails {
  /** undefined when no item allows the payment: then no amount fits, now or later. */
  readonly remaining: Remaining | undefined
  /** undefined when the payment would fit now: what was refused before stays refused. */
  readonly refusedBy: RefusingItem | undefined
}

/**
 * Why a grant does not allow a payment. It is charged to one access item, so all of this is about one item: the one under
 * which the largest part of the payment fits, the first of several; or, if none allows its receiver and assets, the first
 * for its wallet address.
 *
 * @param access.items rights of the token, in the order in which they were requested
 * @param access.allowing see `Coverage`
 * @param counted what is counted for the items; nothing for those that were never used in their current interval
 */
export function explainRefusal(
  { items, allowing }: Pick<Coverage, 'allowing'> & { readonly items: readonly GrantedAccessItem[] },
  payment: PaymentContent,
  counted: readonly CountedAmounts[],
  nowMs: number
): RefusalDetails {
  const best = roomiestOf(allowing, payment, counted, nowMs)
  if (best !== undefined) {
    return {
      remaining: remainingIn(best, allowing, payment, nowMs),
      refusedBy: refusingItem(items, best.item, exceededLimits(best, payment))
    }
  }
  const first = items.find((item) => coversCreation(item, payment.walletAddress))
  return { remaining: undefined, refusedBy: first && refusingItem(items, first, unmetLimits(first, payment)) }
}

function refusingItem(
  items: readonly GrantedAccessItem[],
  item: GrantedAccessItem,
  limits: readonly LimitName[]
): RefusingItem | undefined {
  return limits.length === 0 ? undefined : { accessIndex: items.indexOf(item), limits }
}

function roomiestOf(
  items: readonly GrantedAccessItem[],
  payment: PaymentContent,
  counted: readonly CountedAmounts[],
  nowMs: number
): Room | undefined {
  const countedFor = new Map(counted.map((amounts) => [amounts.accessItemId, amounts]))
  const [first, ...others] = items.map((item) => roomUnder(item, payment, countedFor.get(item.id), nowMs))
  if (first === undefined) return undefined
  return others.reduce(
    (best, room) => (partThatFits(room, payment) > partThatFits(best, payment) ? room : best),
    first
  )
}

function remainingIn(
  { item: { limits }, debitValue, receiveValue }: Room,
  items: readonly GrantedAccessItem[],
  payment: PaymentContent,
  nowMs: number
): Remaining {
  const starts = items.flatMap(({ interval }) => (interval && nextIntervalStart(interval, nowMs)) ?? [])
  return {
    debitValue: limits?.debitAmount || debitValue < payment.debitAmount.value ? debitValue : undefined,
    receiveValue:
      limits?.receiveAmount || receiveValue < payment.receiveAmount.value ? receiveValue : undefined,
    nextIntervalAtMs: starts.length === 0 ? undefined : Math.min(...starts)
  }
}

function exceededLimits(
  { isOutside, debitValue, receiveValue }: Room,
  { debitAmount, receiveAmount }: PaymentContent
): readonly LimitName[] {
  if (isOutside) return ['interval']
  const exceeded: LimitName[] = []
  if (debitValue < debitAmount.value) exceeded.push('debitAmount')
  if (receiveValue < receiveAmount.value) exceeded.push('receiveAmount')
  return exceeded
}

/** What fits under an access item now, in the assets of a payment. */
interface Room {
  readonly item: GrantedAccessItem
  /** Whether it has an interval, and now is outside every repetition of it: then nothing fits. */
  readonly isOutside: boolean
  readonly debitValue: bigint
  readonly receiveValue: bigint
}

function roomUnder(
  item: GrantedAccessItem,
  { debitAmount, receiveAmount }: PaymentContent,
  counted: CountedAmounts | undefined,
  nowMs: number
): Room {
  const { limits, interval } = item
  if (interval !== undefined && intervalIndexAt(interval, nowMs) === undefined) {
    return { item, isOutside: true, debitValue: 0n, receiveValue: 0n }
  }
  const debitValue = limits?.debitAmount?.value ?? UINT64_MAX
  const receiveValue = limits?.receiveAmount?.value ?? UINT64_MAX
  if (counted === undefined) return { item, isOutside: false, debitValue, receiveValue }
  const { spentDebitAmount, spentReceiveAmount } = counted
  return {
    item,
    isOutside: false,
    debitValue: isSameAsset(spentDebitAmount.asset, debitAmount.asset)
      ? left(debitValue, spentDebitAmount.value)
      : 0n,
    receiveValue: isSameAsset(spentReceiveAmount.asset, receiveAmount.asset)
      ? left(receiveValue, spentReceiveAmount.value)
      : receiveValue
  }
}

/** What is left of a limit, which may have been lowered below what was spent. */
function left(limit: bigint, spent: bigint): bigint {
  return spent < limit ? limit - spent : 0n
}

/** The part of a payment for which there is room, scaled by both of its amounts. */
function partThatFits(
  { debitValue, receiveValue }: Room,
  { debitAmount, receiveAmount }: PaymentContent
): bigint {
  const [ofDebit, ofReceive] = [debitValue * receiveAmount.value, receiveValue * debitAmount.value]
  return ofDebit < ofReceive ? ofDebit : ofReceive
}
