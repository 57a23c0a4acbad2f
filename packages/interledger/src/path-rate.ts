import { type Fraction, isLess, timesRoundedDown } from './fraction.js'

/**
 * What is known of the rate of a path: the receiver's smallest units for one of ours. The rate is at least `low` and below `high`.
 * Only what arrived shows it, and that is rounded.
 */
export interface PathRate {
  readonly low: Fraction
  readonly high: Fraction
}

/** What one packet shows: `receivedValue` of the receiver's units arrived of `sentValue` of ours, which is positive. */
export function rateOfPacket(sentValue: bigint, receivedValue: bigint): PathRate {
  return {
    low: { numerator: receivedValue, denominator: sentValue },
    high: { numerator: receivedValue + 1n, denominator: sentValue }
  }
}

/** What several hops may lose of one packet by rounding, in the receiver's units. */
const ROUNDING_MAX = 3n

/**
 * What is known after one more packet. If it agrees with what was known, it can make that more exact; a difference that rounding
 * explains changes nothing, because a small packet shows little; with any other the rate has changed.
 */
export function updateRate(known: PathRate | undefined, sentValue: bigint, receivedValue: bigint): PathRate {
  const seen = rateOfPacket(sentValue, receivedValue)
  if (known === undefined) return seen
  const low = isLess(known.low, seen.low) ? seen.low : known.low
  const high = isLess(known.high, seen.high) ? known.high : seen.high
  if (isLess(low, high)) return low === known.low && high === known.high ? known : { low, high }
  const difference = receivedValue - timesRoundedDown(sentValue, known.low)
  return difference <= ROUNDING_MAX && difference >= -ROUNDING_MAX ? known : seen
}
