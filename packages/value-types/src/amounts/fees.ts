import { AmountError } from './amount-error.js'
import { assertUint64 } from './amount.js'
import { divideRoundedUp } from './rate.js'

/** One hundred percent, in basis points. A fee is always less than that. */
const BASIS_POINTS_OF_ALL = 10_000

/**
 * What a payment costs its sender: `fixed`, in the smallest units of the source asset, plus a share of the debit in
 * basis points (1/10,000), 0 ≤ `basisPoints` < 10,000.
 */
export interface FeeSchedule {
  readonly fixed: bigint
  readonly basisPoints: number
}

/** No fee. */
export const NO_FEES: FeeSchedule = Object.freeze({ fixed: 0n, basisPoints: 0 })

/**
 * The fee contained in a debit: `fixed + ceil(debit × basisPoints / 10,000)`, never more than the debit itself. The
 * share is rounded up, in favour of the provider; what is left of the debit is what the receiver's amount is
 * computed from.
 *
 * @throws AmountError when the debit is no unsigned 64-bit integer, or the schedule is out of bounds
 */
export function feeFor(debit: bigint, schedule: FeeSchedule): bigint {
  assertFeeSchedule(schedule)
  const share = divideRoundedUp(
    assertUint64(debit, 'value') * BigInt(schedule.basisPoints),
    BigInt(BASIS_POINTS_OF_ALL)
  )
  const fee = schedule.fixed + share
  return fee < debit ? fee : debit
}

/**
 * The smallest debit that leaves at least `net` after its fee: the inverse of {@link feeFor}. `0n` for a `net` of `0n`.
 * It may exceed the unsigned 64-bit range; the caller checks.
 *
 * @throws AmountError when the schedule is out of bounds
 */
export function smallestDebitLeaving(net: bigint, schedule: FeeSchedule): bigint {
  assertFeeSchedule(schedule)
  if (net === 0n) {
    return 0n
  }
  // debit − ceil(debit × share) = floor(debit × (1 − share)), which must reach net + fixed.
  const all = BigInt(BASIS_POINTS_OF_ALL)
  return divideRoundedUp((net + schedule.fixed) * all, all - BigInt(schedule.basisPoints))
}

/**
 * Checks a fee schedule, for instance when the configuration is read.
 *
 * @throws AmountError with field `fees.fixed` or `fees.basisPoints`
 */
export function assertFeeSchedule(schedule: FeeSchedule): void {
  assertUint64(schedule.fixed, 'fees.fixed')
  const { basisPoints } = schedule
  if (!Number.isInteger(basisPoints) || basisPoints < 0 || basisPoints >= BASIS_POINTS_OF_ALL) {
    throw new AmountError('fees.basisPoints', 'must be an integer from 0 to 9999')
  }
}
