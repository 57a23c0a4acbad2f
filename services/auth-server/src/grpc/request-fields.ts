import type { auth } from '@open-payments-server/proto'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import {
  type Amount,
  AmountError,
  parseAmount,
  parseAmountValue
} from '@open-payments-server/value-types/amounts'
import { invalidCallField } from '../domain/call-refused.js'
import { parseHttpUrl, URL_LENGTH_MAX } from '../domain/urls.js'

const SHA256_BYTES = 32

/**
 * Reads an id.
 *
 * @throws CallRefused `invalid`
 */
export function readUuid(text: string, field: string): string {
  if (!isUuid(text)) throw invalidCallField(field, 'must be a UUID in lower case')
  return text
}

/**
 * Reads an access token. Any text may be one: a lookup says whether it was issued here.
 *
 * @throws CallRefused `invalid` when there is none
 */
export function readAccessToken(text: string): string {
  if (text === '') throw invalidCallField('access_token', 'must be given')
  return text
}

/**
 * Reads the URL of a resource.
 *
 * @throws CallRefused `invalid`
 */
export function readUrl(text: string, field: string): string {
  // Parsing a URL drops white space and control characters, which would give one address two spellings.
  if (!/^[^\s\p{Cc}]+$/u.test(text) || parseHttpUrl(text) === undefined) {
    throw invalidCallField(
      field,
      `must be an http or https URL of at most ${String(URL_LENGTH_MAX)} characters`
    )
  }
  return text
}

/**
 * Reads a SHA-256.
 *
 * @throws CallRefused `invalid`
 */
export function readSha256(bytes: Uint8Array, field: string): Buffer {
  if (bytes.length !== SHA256_BYTES) throw invalidCallField(field, `must be ${String(SHA256_BYTES)} bytes`)
  return Buffer.from(bytes)
}

/**
 * Reads an amount.
 *
 * @throws CallRefused `invalid` naming the member at fault, for example `debit_amount.asset_code`
 */
export function readAmount(amount: auth.Amount | undefined, field: string): Amount {
  if (amount === undefined) throw invalidCallField(field, 'must be given')
  return readAs(() => parseAmount(amount), field)
}

/**
 * Reads the value of an amount.
 *
 * @throws CallRefused `invalid`
 */
export function readAmountValue(text: string, field: string): bigint {
  try {
    return parseAmountValue(text)
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    throw invalidCallField(field, error.problem)
  }
}

const MEMBER_NAMES: Readonly<Record<string, string>> = {
  value: 'value',
  assetCode: 'asset_code',
  assetScale: 'asset_scale'
}

function readAs(parse: () => Amount, field: string): Amount {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    const member = MEMBER_NAMES[error.field] ?? error.field
    throw invalidCallField(`${field}.${member}`, error.problem)
  }
}
