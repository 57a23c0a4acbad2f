import { isIP } from 'node:net'
import { OutgoingRequestError } from './errors.js'
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
  if (text.length > URL_LENGTH_MAX) throw refused('is too long')
  const url = parseUrl(text)
  if (url === undefined) throw refused('is not an absolute URL')
  if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:')) {
    throw refused('must be an https URL')
  }
  if (url.username !== '' || url.password !== '') throw refused('must not carry credentials')
  if (text.includes('#')) throw refused('must not have a fragment')
  if (allowPrivateNetworks) return url
  // The parser drops the port that the scheme has by default.
  if (url.port !== '') throw refused('must use the default port')
  // A literal address is connected to without a lookup, so it is checked here. The parser has written it in full.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 && !isPublicAddress(host)) {
    throw new OutgoingRequestError({ reason: 'address', message: 'The host is not on the public internet' })
  }
  return url
}

/** Not with `URL.canParse`: in Node 20, after many calls, it refuses every host with a letter such as ü. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function refused(why: string): OutgoingRequestError {
  return new OutgoingRequestError({ reason: 'url', message: `The URL ${why}` })
}
