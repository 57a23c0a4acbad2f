import { AmountError, parseAmountValue } from '@open-payments-server/value-types/amounts'
import { invalidCallField } from './call-refused.js'

/** Visible ASCII, so that a key has one spelling. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/**
 * Reads an amount of an operator's call: a decimal string.
 *
 * @throws CallRefused `invalid` naming its field
 */
export function readCallValue(text: string, field: string): bigint {
  try {
    return parseAmountValue(text)
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    throw invalidCallField(field, error.problem)
  }
}

/**
 * Reads an amount that must be above 0.
 *
 * @throws CallRefused `invalid` naming its field
 */
export function readPositiveCallValue(text: string, field: string): bigint {
  const value = readCallValue(text, field)
  if (value === 0n) throw invalidCallField(field, 'must be above 0')
  return value
}

/** @throws CallRefused `invalid` naming the field, for what is no idempotency key of an operator's call */
export function assertCallKey(key: string, field: string): void {
  if (!IDEMPOTENCY_KEY.test(key)) throw invalidCallField(field, 'must be 1 to 255 visible ASCII characters')
}
