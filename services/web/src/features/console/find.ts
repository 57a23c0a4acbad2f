import { AmountError, parseMajorUnits } from '@open-payments-server/value-types/amounts'
import type { wallet } from '@open-payments-server/proto'

/** An amount as people write it, with or without a code. */
const AMOUNT = /^([0-9][0-9.,' ]*?)\s*([A-Z][A-Z0-9]{1,31})?$/
/** A day, or an instant to the minute or the second. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}))?)?$/
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000] as const

/**
 * Reads an amount as the contract writes it. Groups may be separated; the last sign with other digits than three behind it, or the only
 * one that is a decimal sign of the language, begins the fraction.
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
  const [, digits, code] = AMOUNT.exec(text.trim()) ?? []
  if (digits === undefined) return undefined
  const group = decimalSign === '.' ? ',' : '.'
  const plain = digits.replaceAll(group, '').replace(/[' ]/g, '').replace(decimalSign, '.')
  for (const asset of assets) {
    if (code !== undefined && asset.code !== code) continue
    try {
      return parseMajorUnits(plain, asset).value.toString()
    } catch (error) {
      if (!(error instanceof AmountError)) throw error
    }
  }
  return undefined
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
