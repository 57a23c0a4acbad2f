import { parseCookie, stringifySetCookie } from 'cookie'

/** How cookies are set. */
export interface CookieOptions {
  /** Prefix of the names: listeners on one host share cookies, which ignore ports. */
  readonly listener: string
  /** Whether the pages are reached over https. */
  readonly isSecure: boolean
}

/** Names and attributes of cookies, the same for all. */
export class CookieJar {
  readonly #options: CookieOptions

  constructor(options: CookieOptions) {
    this.#options = options
  }

  /** Reads a cookie from the header `Cookie`. */
  read(header: string | undefined, name: string): string | undefined {
    return parseCookie(header ?? '')[this.#nameOf(name)]
  }

  /** The names, without prefixes, of all cookies that begin like this. */
  namesOf(header: string | undefined, beginning: string): readonly string[] {
    const prefix = this.#nameOf('')
    return Object.keys(parseCookie(header ?? ''))
      .filter((name) => name.startsWith(`${prefix}${beginning}`))
      .map((name) => name.slice(prefix.length))
  }

  /** A header `Set-Cookie`. */
  write(name: string, value: string, lifetimeSeconds: number): string {
    return stringifySetCookie({
      name: this.#nameOf(name),
      value,
      path: '/',
      maxAge: lifetimeSeconds,
      httpOnly: true,
      // Lax, because the browser comes back from the issuer and from the auth server.
      sameSite: 'lax',
      secure: this.#options.isSecure
    })
  }

  /** A header `Set-Cookie` that deletes a cookie. */
  remove(name: string): string {
    return this.write(name, '', 0)
  }

  /** Over https, with the prefix that keeps other hosts, and pages on http, from planting one (RFC 6265bis §4.1.3.2). */
  #nameOf(name: string): string {
    return `${this.#options.isSecure ? '__Host-' : ''}${this.#options.listener}-${name}`
  }
}
