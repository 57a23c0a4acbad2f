import { type Amount, isSameAsset, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { intervalIndexAt, nextIntervalStart } from '@open-payments-server/value-types/intervals'
import type { PaymentContent } from './limits.js'
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

/**
 * What still fits under a grant. A payment is charged to one access item, so the amounts are those of one item: the one
 * under which the largest part of the payment fits, the first of several.
 *
 * @param items those that allow the payment's wallet address, receiver and assets, in the order of the grant
 * @param counted what is counted for them; nothing for those that were never used in their current interval
 * @returns undefined when no item allows it: then no amount fits, now or later
 */
export function remainingUnder(
  items: readonly GrantedAccessItem[],
  payment: PaymentContent,
  counted: readonly CountedAmounts[],
  nowMs: number
): Remaining | undefined {
  const countedFor = new Map(counted.map((amounts) => [amounts.accessItemId, amounts]))
  const rooms = items.map((item) => roomUnder(item, payment, countedFor.get(item.id), nowMs))
  const [first, ...others] = rooms
  if (first === undefined) return undefined
  const best = others.reduce(
    (best, room) => (partThatFits(room, payment) > partThatFits(best, payment) ? room : best),
    first
  )
  const starts = items.flatMap(({ interval }) => (interval && nextIntervalStart(interval, nowMs)) ?? [])
  return {
    debitValue:
      best.limits?.debitAmount || best.debitValue < payment.debitAmount.value ? best.debitValue : undefined,
    receiveValue:
      best.limits?.receiveAmount || best.receiveValue < payment.receiveAmount.value
        ? best.receiveValue
        : undefined,
    nextIntervalAtMs: starts.length === 0 ? undefined : Math.min(...starts)
  }
}

/** What fits under an access item now, in the assets of a payment. */
interface Room extends Pick<GrantedAccessItem, 'limits'> {
  readonly debitValue: bigint
  readonly receiveValue: bigint
}

function roomUnder(
  { limits, interval }: GrantedAccessItem,
  { debitAmount, receiveAmount }: PaymentContent,
  counted: CountedAmounts | undefined,
  nowMs: number
): Room {
  if (interval !== undefined && intervalIndexAt(interval, nowMs) === undefined) {
    return { limits, debitValue: 0n, receiveValue: 0n }
  }
  const debitValue = limits?.debitAmount?.value ?? UINT64_MAX
  const receiveValue = limits?.receiveAmount?.value ?? UINT64_MAX
  if (counted === undefined) return { limits, debitValue, receiveValue }
  const { spentDebitAmount, spentReceiveAmount } = counted
  return {
    limits,
    debitValue: isSameAsset(spentDebitAmount.asset, debitAmount.asset)
      ? debitValue - spentDebitAmount.value
      : 0n,
    receiveValue: isSameAsset(spentReceiveAmount.asset, receiveAmount.asset)
      ? receiveValue - spentReceiveAmount.value
      : receiveValue
  }
}

/** The part of a payment for which there is room, scaled by both of its amounts. */
function partThatFits(
  { debitValue, receiveValue }: Room,
  { debitAmount, receiveAmount }: PaymentContent
): bigint {
  const [ofDebit, ofReceive] = [debitValue * receiveAmount.value, receiveValue * debitAmount.value]
  return ofDebit < ofReceive ? ofDebit : ofReceive
}
