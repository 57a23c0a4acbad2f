import type { Amount } from './amount.js'

/** An amount from which on something is different, in major units: `value` over ten to the power of `scale`. */
export interface Threshold {
  readonly value: bigint
  readonly scale: number
}

/** From which amounts on something is different: `always`, or amounts by asset code. */
export type Thresholds = 'always' | ReadonlyMap<string, Threshold>

const ENTRY = /^(0|[1-9][0-9]{0,19})(?:\.([0-9]{1,20}))? ([\x21-\x2b\x2d-\x7e]{1,32})$/

/**
 * Reads a setting of amounts: `always`, or amounts in major units with asset codes, separated by commas: `100.00 USD, 90 EUR`.
 *
 * @param setting its name
 * @throws Error naming the setting, and the entry that is none
 */
export function parseThresholds(text: string, setting: string): Thresholds {
  if (text === 'always') return text
  return new Map(
    text.split(',').map((entry) => {
      const [, whole, decimals = '', code] = ENTRY.exec(entry.trim()) ?? []
      if (whole === undefined || code === undefined)
        throw new Error(`${setting}: "${entry.trim()}" is not an amount such as "100.00 USD", or always`)
      return [code, { value: BigInt(whole + decimals), scale: decimals.length }]
    })
  )
}

/** Whether an amount is at its threshold, or above it. An amount in an asset that has none always is. */
export function reachesThreshold(amount: Amount, thresholds: Thresholds): boolean {
  return reachThresholds([amount], thresholds)
}

/**
 * Whether amounts together are at their thresholds, or above them: half of one asset's and half of another's are. With one in an asset that
 * has none they always are, and no amounts never.
 */
export function reachThresholds(amounts: readonly Amount[], thresholds: Thresholds): boolean {
  // The sum of the parts of thresholds that amounts are.
  let [numerator, denominator] = [0n, 1n]
  for (const { asset, value } of amounts) {
    const threshold = thresholds === 'always' ? undefined : thresholds.get(asset.code)
    if (threshold === undefined || threshold.value === 0n) return true
    const scale = Math.max(asset.scale, threshold.scale)
    const whole = scaled(threshold.value, threshold.scale, scale)
    numerator = numerator * whole + scaled(value, asset.scale, scale) * denominator
    denominator *= whole
  }
  return numerator >= denominator
}

function scaled(value: bigint, from: number, to: number): bigint {
  return value * 10n ** BigInt(to - from)
}
