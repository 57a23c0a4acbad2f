import { parseCookie, stringifySetCookie } from 'cookie'
import type { FinishingBrowser } from './interactions.js'
import type { ServiceAddresses } from './urls.js'

const NAME = 'interaction'

/** Between the two secrets of a cookie: neither, in base64url, contains it. */
const SEPARATOR = '.'

/**
 * The cookie that binds an interaction to the browser that opened it first. Once that browser has finished, it also keeps the
 * code of the approval: it shows that the account holder agreed in this browser, when the link is opened again.
 */
export interface InteractionCookie {
  /** Reads what a browser keeps from a `Cookie` header. */
  read(header: string | undefined): FinishingBrowser
  /** A `Set-Cookie` header that gives it to a browser. */
  write(interactionId: string, kept: { readonly cookie: string; readonly finishCode?: string }): string
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
    read(header) {
      const [cookie, finishCode] = parseCookie(header ?? '')[name]?.split(SEPARATOR) ?? []
      return { cookie, finishCode }
    },
    write: (interactionId, { cookie, finishCode }) =>
      stringifySetCookie({
        name,
        value: finishCode === undefined ? cookie : `${cookie}${SEPARATOR}${finishCode}`,
        path: addresses.interactPath(interactionId),
        maxAge: lifetimeSeconds,
        httpOnly: true,
        // Lax, because the consent page and the client, from which the browser comes, are other sites.
        sameSite: 'lax',
        secure
      })
  }
}
