import { AmountError } from './amount-error.js'

/** The largest amount: 2^64 − 1 (interface 8, "Amount values are unsigned 64-bit integers"). */
export const UINT64_MAX = 18_446_744_073_709_551_615n

/** The largest asset scale: it travels as an unsigned byte. */
export const ASSET_SCALE_MAX = 255

/** The longest asset code, in characters. */
export const ASSET_CODE_LENGTH_MAX = 32

const CANONICAL_INTEGER = /^(?:0|[1-9][0-9]{0,19})$/
const MAJOR_UNITS = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/
const VISIBLE_ASCII = /^[\x21-\x7e]+$/

/** A currency or other unit of account. `scale` is the number of decimals of its smallest unit, 0 to 255. */
export interface Asset {
  readonly code: string
  readonly scale: number
}

/** An amount of an asset. `value` counts the asset's smallest units: 12.50 USD at scale 2 is `1250n`. */
export interface Amount {
  readonly value: bigint
  readonly asset: Asset
}

/** An amount as it travels in JSON (interface 2.1): `value` is a decimal string of an unsigned 64-bit integer. */
export interface AmountWire {
  value: string
  assetCode: string
  assetScale: number
}

/**
 * Reads the wire form of an amount's value: the canonical decimal form of an unsigned 64-bit integer, without a
 * sign, a leading zero, white space or a decimal point.
 *
 * @throws AmountError with field `value`
 */
export function parseAmountValue(text: string): bigint {
  if (typeof text !== 'string' || !CANONICAL_INTEGER.test(text)) {
    throw new AmountError('value', 'must be a decimal string of an integer from 0 to 18446744073709551615')
  }
  return assertUint64(BigInt(text), 'value')
}

/**
 * Reads the wire form of an amount.
 *
 * @throws AmountError naming the first member that is wrong
 */
export function parseAmount(wire: AmountWire): Amount {
  const value = parseAmountValue(wire.value)
  if (
    typeof wire.assetCode !== 'string' ||
    wire.assetCode.length > ASSET_CODE_LENGTH_MAX ||
    !VISIBLE_ASCII.test(wire.assetCode)
  ) {
    throw new AmountError(
      'assetCode',
      `must be 1 to ${ASSET_CODE_LENGTH_MAX} visible ASCII characters, for example "USD"`
    )
  }
  if (!isAssetScale(wire.assetScale)) {
    throw new AmountError('assetScale', `must be an integer from 0 to ${ASSET_SCALE_MAX}`)
  }
  return { value, asset: { code: wire.assetCode, scale: wire.assetScale } }
}

/** The wire form of an amount. `parseAmount(formatAmount(amount))` equals `amount`. */
export function formatAmount(amount: Amount): AmountWire {
  return { value: amount.value.toString(), assetCode: amount.asset.code, assetScale: amount.asset.scale }
}

/** The value in major units, exact: `12.50` for `1250n` at scale 2. {@link parseMajorUnits} reads it. */
export function formatMajorUnits({ value, asset: { scale } }: Amount): string {
  const digits = value.toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  return scale === 0 ? whole : `${whole}.${digits.slice(digits.length - scale)}`
}

/** The amount as a person reads it, exact: `12.50 USD` for `1250n` at scale 2. */
export function describeAmount(amount: Amount): string {
  return `${formatMajorUnits(amount)} ${amount.asset.code}`
}

/**
 * Reads what a person types, in major units: `1000.00` or `1000` is `100000n` at scale 2. Never rounds: more decimals
 * than the asset has are refused, even when they are zeros.
 *
 * @throws AmountError with field `value`
 */
export function parseMajorUnits(text: string, asset: Asset): Amount {
  // 20 digits are enough for every unsigned 64-bit integer; leading zeros after the point come on top.
  const match = text.length <= ASSET_SCALE_MAX + 21 ? MAJOR_UNITS.exec(text) : null
  if (match === null) {
    throw new AmountError('value', 'must be a decimal number without a sign, for example "12.50"')
  }
  const whole = match[1] ?? ''
  const decimals = match[2] ?? ''
  if (decimals.length > asset.scale) {
    throw new AmountError('value', `has ${decimals.length} decimals; ${asset.code} has ${asset.scale}`)
  }
  return { value: assertUint64(BigInt(whole + decimals.padEnd(asset.scale, '0')), 'value'), asset }
}

/** Whether two assets are the same unit of account: both code and scale agree. Codes are compared exactly. */
export function isSameAsset(a: Asset, b: Asset): boolean {
  return a.code === b.code && a.scale === b.scale
}

/** Whether a value is an asset scale: an integer from 0 to 255. */
export function isAssetScale(scale: unknown): scale is number {
  return typeof scale === 'number' && Number.isInteger(scale) && scale >= 0 && scale <= ASSET_SCALE_MAX
}

/**
 * Answers `value` when it is an unsigned 64-bit integer.
 *
 * @throws AmountError with the given field otherwise
 */
export function assertUint64(value: bigint, field: string): bigint {
  if (value < 0n || value > UINT64_MAX) {
    throw new AmountError(field, `must be an integer from 0 to ${UINT64_MAX}`)
  }
  return value
}
