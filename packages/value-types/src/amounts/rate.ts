import { AmountError } from './amount-error.js'
import { type Asset, ASSET_SCALE_MAX, assertUint64, isAssetScale } from './amount.js'

/** The most digits of a rate, on both sides of the point together. */
const RATE_DIGITS_MAX = 40

const POSITIVE_DECIMAL = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/**
 * An exact exchange rate: target *major* units for one source *major* unit, as a fraction in lowest terms. 1 EUR =
 * 1.0825 USD is `{ numerator: 433n, denominator: 400n }` from EUR to USD, whatever the scales of the two.
 */
export interface Rate {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** One for one. */
export const RATE_ONE: Rate = Object.freeze({ numerator: 1n, denominator: 1n })

/**
 * Reads a rate: a positive decimal such as `1.0825`, at most 40 digits in all, without a sign or an exponent.
 *
 * @throws AmountError with field `rate`
 */
export function parseRate(text: string): Rate {
  // One character more than the digits, for the point.
  const match =
    typeof text === 'string' && text.length <= RATE_DIGITS_MAX + 1 ? POSITIVE_DECIMAL.exec(text) : null
  const digits = (match?.[1] ?? '') + (match?.[2] ?? '')
  const numerator = BigInt(digits)
  if (digits.length > RATE_DIGITS_MAX || numerator === 0n) {
    throw new AmountError('rate', `must be a positive decimal of at most ${RATE_DIGITS_MAX} digits`)
  }
  const denominator = 10n ** BigInt(match?.[2]?.length ?? 0)
  const divisor = greatestCommonDivisor(numerator, denominator)
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

/**
 * The most of `target` that `value` of `source` covers: rounded down, so that a receiver is never promised more than
 * the sender's amount is worth.
 *
 * @param value in the smallest units of `source`
 * @returns the smallest units of `target`; `0n` when `value` covers none
 * @throws AmountError when the result, or `value`, is no unsigned 64-bit integer
 */
export function convertRoundedDown(value: bigint, source: Asset, target: Asset, rate: Rate): bigint {
  const { multiplier, divisor } = unitRatio(source, target, rate)
  return assertUint64((assertUint64(value, 'value') * multiplier) / divisor, 'value')
}

/**
 * The least of `source` that covers `value` of `target`: rounded up, the counterpart of {@link convertRoundedDown}.
 * Converting the result back gives at least `value`; one unit less would give less than `value`.
 *
 * @param value in the smallest units of `target`
 * @returns the smallest units of `source`
 * @throws AmountError when the result, or `value`, is no unsigned 64-bit integer
 */
export function convertRoundedUp(value: bigint, source: Asset, target: Asset, rate: Rate): bigint {
  const { multiplier, divisor } = unitRatio(source, target, rate)
  return assertUint64(divideRoundedUp(assertUint64(value, 'value') * divisor, multiplier), 'value')
}

/** `ceil(dividend / divisor)` for a dividend ≥ 0 and a divisor > 0. */
export function divideRoundedUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

/**
 * The rate between smallest units, as a fraction: the units of `target` for one of `source` are `multiplier / divisor`.
 *
 * @throws AmountError for a rate that is not positive, or a scale that is none
 */
export function unitRatio(
  source: Asset,
  target: Asset,
  rate: Rate
): { readonly multiplier: bigint; readonly divisor: bigint } {
  if (rate.numerator <= 0n || rate.denominator <= 0n) {
    throw new AmountError('rate', 'must be positive')
  }
  if (!isAssetScale(source.scale) || !isAssetScale(target.scale)) {
    throw new AmountError('assetScale', `must be an integer from 0 to ${ASSET_SCALE_MAX}`)
  }
  return {
    multiplier: rate.numerator * 10n ** BigInt(target.scale),
    divisor: rate.denominator * 10n ** BigInt(source.scale)
  }
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b)
}
