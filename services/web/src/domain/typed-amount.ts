import {
  type Amount,
  AmountError,
  type Asset,
  parseMajorUnits
} from '@open-payments-server/value-types/amounts'

/** Longest text that is looked at, in characters: the largest amount has 275. */
const LENGTH_MAX = 300

/**
 * Reads an amount that somebody typed. Signs that group digits are refused: a point that means a fraction to one person means thousands to
 * another.
 *
 * @param decimalSign of the language in which it was asked for
 * @returns undefined for a text that is no amount of the asset
 */
export function readTypedAmount(text: string, asset: Asset, decimalSign: '.' | ','): Amount | undefined {
  if (text.length > LENGTH_MAX || (decimalSign === ',' && text.includes('.'))) return undefined
  try {
    return parseMajorUnits(text.replace(decimalSign, '.'), asset)
  } catch (error) {
    if (error instanceof AmountError) return undefined
    throw error
  }
}
