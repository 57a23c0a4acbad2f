import { isIP } from 'node:net'
import { OutgoingRequestError } from './errors.js'
import { notReachable } from './lookup.js'
import { isPublicAddress } from './public-address.js'

/** Maximum length of a URL that is fetched, in characters. */
export const URL_LENGTH_MAX = 2_048

/**
 * Parses a URL that is about to be fetched.
 *
 * @param allowPrivateNetworks also allows `http:`, every port and every address
 * @throws OutgoingRequestError with reason `url`, or `address` for a host that is a literal address off the internet
 */
export function parseTarget(text: string, allowPrivateNetworks: boolean): URL {
  const url = parseHttpUrl(text)
  if (url.protocol !== 'https:' && !allowPrivateNetworks) throw refused('must be an https URL')
  if (allowPrivateNetworks) return url
  // The parser drops the port that the scheme has by default.
  if (url.port !== '') throw refused('must use the default port')
  const address = literalAddress(url)
  if (address !== undefined && !isPublicAddress(address)) throw notReachable()
  return url
}

/**
 * Parses a URL that may be asked with HTTP.
 *
 * @throws OutgoingRequestError with reason `url`
 */
export function parseHttpUrl(text: string): URL {
  if (text.length > URL_LENGTH_MAX) throw refused('is too long')
  const url = parseUrl(text)
  if (url === undefined) throw refused('is not an absolute URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused('must be an https URL')
  if (url.username !== '' || url.password !== '') throw refused('must not carry credentials')
  if (text.includes('#')) throw refused('must not have a fragment')
  return url
}

/** The address that is the host of a URL; undefined for a name. It is connected to without a lookup. The parser wrote it in full. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? undefined : host
}

/** Not with `URL.canParse`: in Node 20, after many calls, it refuses every host with a letter such as ü. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** The refusal of a URL. */
export function refused(why: string): OutgoingRequestError {
  return new OutgoingRequestError({ reason: 'url', message: `The URL ${why}` })
}
