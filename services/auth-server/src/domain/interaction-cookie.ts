import { parseCookie, stringifySetCookie } from 'cookie'
import type { ServiceAddresses } from './urls.js'

const NAME = 'interaction'

/** The cookie that binds an interaction to the browser that opened it first. */
export interface InteractionCookie {
  /** Reads its value from a `Cookie` header; undefined when there is none. */
  read(header: string | undefined): string | undefined
  /** A `Set-Cookie` header that gives it to a browser. */
  write(interactionId: string, value: string): string
}

/**
 * Says how that cookie travels. Its path is that of the interaction, so that several in one browser do not meet. Over https
 * its name has the prefix that keeps pages on http, which anyone on the way can write, from setting one in its place (RFC
 * 6265bis §4.1.3.1); `__Host-` would not allow a path.
 *
 * @param lifetimeSeconds how long browsers keep it
 */
export function createInteractionCookie(
  addresses: ServiceAddresses,
  lifetimeSeconds: number
): InteractionCookie {
  const secure = new URL(addresses.grantEndpoint).protocol === 'https:'
  const name = secure ? `__Secure-${NAME}` : NAME
  return {
    read: (header) => parseCookie(header ?? '')[name],
    write: (interactionId, value) =>
      stringifySetCookie({
        name,
        value,
        path: addresses.interactPath(interactionId),
        maxAge: lifetimeSeconds,
        httpOnly: true,
        // Lax, because the consent page and the client, from which the browser comes, are other sites.
        sameSite: 'lax',
        secure
      })
  }
}
