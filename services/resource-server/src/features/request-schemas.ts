import { readAmount } from '@open-payments-server/value-types/amounts'
import { measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'

// Schemas shared by several requests. Each names the field that is wrong.

/** Maximum length of a URL in a body, in characters. */
export const URL_LENGTH_MAX = 2_048

/** Maximum size of metadata, in bytes of its JSON with every number written out. */
export const METADATA_BYTES_MAX = 16_384

/** A URL. Which one is checked when it is looked up. */
export const urlSchema = measuredText(
  z
    .string()
    .min(1, { message: 'must be a URL' })
    .max(URL_LENGTH_MAX, { message: `must have at most ${String(URL_LENGTH_MAX)} characters` }),
  'must be a URL'
)

/** An amount (interface 2.1), parsed. */
export const amountSchema = z
  .strictObject(
    {
      value: z.string(),
      assetCode: z.string(),
      assetScale: z.number()
    },
    { error: (issue) => (issue.code === 'invalid_type' ? 'must be an amount' : undefined) }
  )
  .transform(readAmount)

/**
 * Writes numbers out, as the database does: otherwise a few bytes such as 1e308 would become hundreds wherever metadata is
 * read. For `JSON.stringify`.
 */
function writtenOut(_name: string, value: unknown): unknown {
  const exponent = typeof value === 'number' ? /e[+-](\d+)$/.exec(String(value))?.[1] : undefined
  return exponent === undefined ? value : '0'.repeat(Number(exponent))
}

/** Size of metadata, in bytes of its JSON with every number written out. */
export function metadataBytes(metadata: Readonly<Record<string, unknown>>): number {
  return Buffer.byteLength(JSON.stringify(metadata, writtenOut))
}

/** Metadata: any JSON object within the limit. */
export const metadataSchema = z
  .record(z.string(), z.unknown(), { message: 'must be an object' })
  .refine((metadata) => metadataBytes(metadata) <= METADATA_BYTES_MAX, {
    message: `must have at most ${String(METADATA_BYTES_MAX)} bytes`
  })

/** The first instant of the year 1: the database's calendar has no year 0. In milliseconds since the Unix epoch. */
const INSTANT_MIN_MS = Date.parse('0001-01-01T00:00:00Z')

/** An instant (ISO 8601, with its offset), as milliseconds since the Unix epoch. */
export const instantSchema = z.iso
  .datetime({ offset: true, message: 'must be a date and time such as 2030-01-31T12:00:00Z' })
  .transform((text) => Date.parse(text))
  .refine((ms) => ms >= INSTANT_MIN_MS, { message: 'is not a date that exists' })
