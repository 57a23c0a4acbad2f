import type { wallet } from '@open-payments-server/proto'
import { readTypedAmount } from '../../domain/typed-amount.js'

/** An amount as people write it, with or without a code. */
const AMOUNT = /^([0-9][0-9.,' ]*?)\s*([A-Z][A-Z0-9]{1,31})?$/
/** Digits in groups of three, by the decimal sign of the language. */
const GROUPED = {
  '.': /^\d{1,3}([,' ])\d{3}(?:\1\d{3})*(?:\.\d+)?$/,
  ',': /^\d{1,3}([.' ])\d{3}(?:\1\d{3})*(?:,\d+)?$/
} as const
/** A day, or an instant to the minute or the second. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}))?)?$/
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000] as const

/**
 * Reads an amount that is looked for, as the contract writes it. Its digits may be in groups of three, as pages write them.
 *
 * @param text such as `1,250.00 USD`, or `25`
 * @param assets those of the provider
 * @returns undefined for a text that is no amount of any of them
 */
export function readAmount(
  text: string,
  assets: readonly wallet.Asset[],
  decimalSign: '.' | ','
): string | undefined {
  const [, sign] = GROUPED[decimalSign].exec(AMOUNT.exec(text.trim())?.[1] ?? '') ?? []
  const plain = sign === undefined ? text : text.replaceAll(sign, '')
  return assets.map((asset) => readMoved(plain, asset, decimalSign)).find((value) => value !== undefined)
}

/**
 * Reads an amount that is to be moved, as the contract writes it.
 *
 * @param text such as `25.00 USD`, or `25`: without groups of digits
 * @returns undefined for a text that is no amount of the asset
 */
export function readMoved(text: string, asset: wallet.Asset, decimalSign: '.' | ','): string | undefined {
  const [, digits, code = asset.code] = AMOUNT.exec(text.trim()) ?? []
  if (digits === undefined || code !== asset.code) return undefined
  return readTypedAmount(digits, asset, decimalSign)?.value.toString()
}

/** A span of time. */
export interface Span {
  readonly from: Date
  readonly until: Date
}

/** Reads a day, a minute or a second, in UTC; undefined for another text. */
export function readSpan(text: string): Span | undefined {
  const [, day, minute, second] = INSTANT.exec(text.trim()) ?? []
  if (day === undefined) return undefined
  const fromMs = Date.parse(`${day}T${minute ?? '00:00'}:${second ?? '00'}Z`)
  if (Number.isNaN(fromMs)) return undefined
  const lengthMs = minute === undefined ? DAY_MS : second === undefined ? MINUTE_MS : 1_000
  return { from: new Date(fromMs), until: new Date(fromMs + lengthMs) }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/** The id (UUID) in a text, such as the URL of a payment; undefined without one. */
export function readId(text: string): string | undefined {
  return UUID.exec(text.toLowerCase())?.[0]
}
