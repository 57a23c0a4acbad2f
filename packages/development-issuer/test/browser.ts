/** A browser without scripts: it keeps cookies, follows redirects within the issuer, and sends forms. */
export class Browser {
  readonly #cookies = new Map<string, string>()
  readonly #origin: string

  /** @param origin of the issuer */
  constructor(origin: string) {
    this.#origin = origin
  }

  /** Goes to a URL. Ends at a page of the issuer, or at the first URL elsewhere, which is not fetched. */
  async open(url: string, form?: Readonly<Record<string, string>>): Promise<Arrived> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) })
    })
    for (const cookie of response.headers.getSetCookie()) this.#keep(cookie)
    const text = await response.text()
    const location = response.headers.get('location')
    if (location === null) return { url, status: response.status, headers: response.headers, text }
    const next = new URL(location, url)
    if (next.origin === this.#origin) return this.open(next.href)
    return { url: next.href, status: response.status, headers: response.headers, text: '' }
  }

  #keep(cookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    if (value === '') this.#cookies.delete(name)
    else this.#cookies.set(name, value)
  }
}

/** Where a browser has arrived. */
export interface Arrived {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  /** Of the page; empty elsewhere. */
  readonly text: string
}
