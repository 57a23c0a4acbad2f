/** A browser without scripts: it keeps cookies, follows redirects within the origins that it knows, and sends forms. */
export class PlainBrowser {
  readonly #cookies = new Map<string, string>()
  readonly #origins: ReadonlySet<string>

  /** @param urls of the sites that it follows redirects to. All of them are on one host: cookies know no ports. */
  constructor(urls: readonly string[]) {
    this.#origins = new Set(urls.map((url) => new URL(url).origin))
  }

  /**
   * Goes to a URL, or sends a form there. Ends at a page, or at the first URL of another site, which is not fetched.
   *
   * @param form names and values of a form
   */
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
    if (this.#origins.has(next.origin)) return this.open(next.href)
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

/**
 * The first form of a page: where it is sent, and its hidden inputs, whose values need no unescaping.
 *
 * @throws Error when the page has none
 */
export function formOf({ text, url }: Arrived): {
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
} {
  const [, attributes, content] = /<form([^>]*)>([^]*?)<\/form>/.exec(text) ?? []
  if (attributes === undefined || content === undefined) throw new Error(`there is no form:\n${text}`)
  const hidden = content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)
  return {
    action: new URL(/ action="([^"]*)"/.exec(attributes)?.[1] ?? '', url).href,
    fields: Object.fromEntries([...hidden].map(([, name, value]) => [name ?? '', value ?? '']))
  }
}
