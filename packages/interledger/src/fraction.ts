/** An exact non-negative number. The denominator is positive; the two may have common divisors. */
export interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** More digits than amounts have. */
const SIGNIFICANT_DIGITS_MAX = 20

/** Whether `left < right`. */
export function isLess(left: Fraction, right: Fraction): boolean {
  return left.numerator * right.denominator < right.numerator * left.denominator
}

/** The smaller of two. */
export function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}

/** The larger of two. */
export function greatest(left: bigint, right: bigint): bigint {
  return left > right ? left : right
}

/** `floor(value × fraction)`. */
export function timesRoundedDown(value: bigint, { numerator, denominator }: Fraction): bigint {
  return (value * numerator) / denominator
}

/** `ceil(value × fraction)`. */
export function timesRoundedUp(value: bigint, { numerator, denominator }: Fraction): bigint {
  return (value * numerator + denominator - 1n) / denominator
}

/** `1 / fraction`, for one that is not zero. */
export function inverse({ numerator, denominator }: Fraction): Fraction {
  return { numerator: denominator, denominator: numerator }
}

/**
 * The fraction with the smallest denominator that is at least `low` and below `high`. Rates that people set have few digits, so it
 * is the rate itself if the bounds are close.
 */
export function simplestBetween(low: Fraction, high: Fraction): Fraction {
  const whole = low.numerator / low.denominator
  const rest = low.numerator % low.denominator
  if (rest === 0n) return { numerator: whole, denominator: 1n }
  const next = { numerator: whole + 1n, denominator: 1n }
  if (isLess(next, high)) return next
  // Both have the same whole part: look between the inverses of what is left of them, where low and high change places.
  const highRest = { numerator: high.numerator - whole * high.denominator, denominator: high.denominator }
  const { numerator, denominator } = simplestAbove(
    inverse(highRest),
    inverse({ numerator: rest, denominator: low.denominator })
  )
  return { numerator: whole * numerator + denominator, denominator: numerator }
}

/** The decimal number with the fewest significant digits that is at least `low`, which is not zero, and below `high`. */
export function roundestBetween(low: Fraction, high: Fraction): Fraction {
  for (let digits = 1; digits <= SIGNIFICANT_DIGITS_MAX; digits += 1) {
    const rounded = roundedUp(low, digits)
    if (isLess(rounded, high)) return rounded
  }
  return low
}

/** The least number of so many significant digits that is at least a value, which is not zero. */
function roundedUp({ numerator, denominator }: Fraction, digits: number): Fraction {
  const end = 10n ** BigInt(digits)
  // The value is between `end / 10` and `end` with the one divided, or multiplied, by the power of ten.
  let [divisor, factor] = [1n, 1n]
  while (numerator >= denominator * divisor * end) divisor *= 10n
  while (numerator * factor * 10n < denominator * end) factor *= 10n
  const scaled = { numerator: numerator * factor, denominator: denominator * divisor }
  return { numerator: timesRoundedUp(1n, scaled) * divisor, denominator: factor }
}

/** As `simplestBetween`, but above `low`, and at most `high`. */
function simplestAbove(low: Fraction, high: Fraction): Fraction {
  const whole = low.numerator / low.denominator
  const next = { numerator: whole + 1n, denominator: 1n }
  if (!isLess(high, next)) return next
  const highRest = { numerator: high.numerator - whole * high.denominator, denominator: high.denominator }
  const lowRest = { numerator: low.numerator - whole * low.denominator, denominator: low.denominator }
  if (lowRest.numerator === 0n) {
    // Nothing whole is left of `low`: the least denominator n with 1/n within the rest of `high`.
    const part = (highRest.denominator + highRest.numerator - 1n) / highRest.numerator
    return { numerator: whole * part + 1n, denominator: part }
  }
  const { numerator, denominator } = simplestBetween(inverse(highRest), inverse(lowRest))
  return { numerator: whole * numerator + denominator, denominator: numerator }
}
