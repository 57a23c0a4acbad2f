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
 * The canonical spelling of a client's wallet address: without a final slash.
 *
 * @returns undefined when the text is not an http or https URL, has a query or fragment, or is too long in that spelling
 */
export function normalizeWalletAddress(text: string): string | undefined {
  const url = parseHttpUrl(text)
  if (url === undefined || /[?#]/.test(text)) return undefined
  // A canonical URL may be longer: each character that must be escaped becomes three.
  const normalized = url.href.replace(/\/+$/, '')
  return normalized.length > URL_LENGTH_MAX ? undefined : normalized
}

/** Whether two URLs name the same grant endpoint, ignoring a final slash. */
export function isSameEndpoint(left: string, right: string): boolean {
  const normalized = normalizeWalletAddress(left)
  return normalized !== undefined && normalized === normalizeWalletAddress(right)
}

/** Whether a URL points to the browser's own machine (RFC 9635 §2.5.2 allows http for it). */
export function isLoopback(url: URL): boolean {
  return (
    url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(url.hostname)
  )
}

/** The URLs this service gives to clients, all below its public URL. */
export interface ServiceAddresses {
  /** The public URL exactly as configured, and as wallet addresses advertise it. */
  readonly grantEndpoint: string
  /** URL for continuing and cancelling a grant. */
  continueUri(grantId: string): string
  /** URL for rotating and revoking a token. Names the token by its id, never by its value. */
  manageUri(tokenId: string): string
  /** URL at which the account holder's browser starts the interaction. */
  interactUri(interactionId: string, nonce: string): string
  /** Path of the browser's cookie of an interaction. */
  interactPath(interactionId: string): string
}

/** Builds URLs from the configured public URL. */
export function createAddresses(publicUrl: string): ServiceAddresses {
  const base = new URL(publicUrl).href.replace(/\/$/, '')
  const path = new URL(publicUrl).pathname.replace(/\/$/, '')
  return {
    grantEndpoint: publicUrl,
    continueUri: (grantId) => `${base}/continue/${grantId}`,
    manageUri: (tokenId) => `${base}/token/${tokenId}`,
    interactUri: (interactionId, nonce) => `${base}/interact/${interactionId}/${nonce}`,
    interactPath: (interactionId) => `${path}/interact/${interactionId}`
  }
}

/** A URL with parameters added to its query. The rest stays byte for byte: a client may compare it, or have signed it. */
export function withQuery(url: string, parameters: Readonly<Record<string, string>>): string {
  const [address = '', ...fragment] = url.split('#')
  // Only the first question mark begins the query; another is part of it.
  const separator = !address.includes('?') ? '?' : /^[^?]*\?(?:.*&)?$/.test(address) ? '' : '&'
  return [`${address}${separator}${new URLSearchParams(parameters).toString()}`, ...fragment].join('#')
}
