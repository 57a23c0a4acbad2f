import { normalizeWalletAddress } from '@open-payments-server/value-types/identifiers'

export {
  normalizeWalletAddress,
  parseHttpUrl,
  URL_LENGTH_MAX
} from '@open-payments-server/value-types/identifiers'

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
