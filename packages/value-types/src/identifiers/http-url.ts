import { withoutFinalSlashes } from './final-slashes.js'

/** Maximum length of a URL in a request, in characters. */
export const URL_LENGTH_MAX = 2_048

/** A URL consists of visible ASCII (RFC 3986 §2). Parsers accept more, which would give one address two spellings. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/

/** Reads an absolute http or https URL without credentials; undefined for any other text. */
export function parseHttpUrl(text: string): URL | undefined {
  if (text.length > URL_LENGTH_MAX || !VISIBLE_ASCII.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isHttp = url.protocol === 'https:' || url.protocol === 'http:'
  return isHttp && url.username === '' && url.password === '' ? url : undefined
}

/**
 * The one spelling of a wallet address, such as a client's: as URL parsers write it, without a final slash.
 *
 * @returns undefined when the text is not an http or https URL, has a query or fragment, a host that ends in a dot, or is too long
 * in that spelling
 */
export function normalizeWalletAddress(text: string): string | undefined {
  const url = parseHttpUrl(text)
  // `wallet.example.` leads to `wallet.example`, certificate included: it would be another name of everyone there.
  if (url === undefined || /[?#]/.test(text) || url.hostname.endsWith('.')) return undefined
  // A canonical URL may be longer: each character that must be escaped becomes three.
  const normalized = withoutFinalSlashes(url.href)
  return normalized.length > URL_LENGTH_MAX ? undefined : normalized
}
