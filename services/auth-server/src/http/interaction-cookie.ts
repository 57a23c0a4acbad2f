import { parseCookie, stringifySetCookie } from 'cookie'
import type { InteractionCookie } from '../features/interaction-cookie.js'
import type { ServiceAddresses } from '../domain/urls.js'

const NAME = 'interaction'

/** How long a browser can still be told how the interaction ended: as long as the consent page of the quick start remembers. */
const TOLD_SECONDS = 86_400

/** Separates the two secrets of a cookie: neither, in base64url, contains it. */
const SEPARATOR = '.'

/**
 * Defines the cookie's attributes. Its path is that of the interaction, so that several in one browser do not collide. Over
 * https its name has a prefix that keeps http pages, which an attacker on the network can forge, from setting it (RFC
 * 6265bis §4.1.3.1); `__Host-` would not allow a path.
 *
 * @param finishSeconds how long the browser can finish. It keeps the cookie for a day more
 */
export function createInteractionCookie(
  addresses: ServiceAddresses,
  finishSeconds: number
): InteractionCookie {
  const secure = new URL(addresses.grantEndpoint).protocol === 'https:'
  const name = secure ? `__Secure-${NAME}` : NAME
  return {
    read(header) {
      const [cookie, finishCode] = parseCookie(header ?? '')[name]?.split(SEPARATOR) ?? []
      return { cookie, finishCode }
    },
    write: (interactionId, { cookie, finishCode }) =>
      stringifySetCookie({
        name,
        value: finishCode === undefined ? cookie : `${cookie}${SEPARATOR}${finishCode}`,
        path: addresses.interactPath(interactionId),
        maxAge: finishSeconds + TOLD_SECONDS,
        httpOnly: true,
        // Lax, because the browser comes from other sites: the consent page and the client.
        sameSite: 'lax',
        secure
      })
  }
}
