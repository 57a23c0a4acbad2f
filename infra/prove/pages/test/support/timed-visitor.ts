/** A page of the console, and how long it took. */
interface TimedPage {
  readonly status: number
  readonly text: string
}

/** Somebody who is signed in at the console, and asks for pages without a browser: how long each takes is kept. */
export class TimedVisitor {
  readonly #origin: string
  readonly #cookie: string
  readonly #times: Map<string, number[]>

  /**
   * @param origin of the console
   * @param cookie of the session
   * @param times milliseconds by what was asked for, to which those of this visitor are added
   */
  constructor(origin: string, cookie: string, times: Map<string, number[]>) {
    this.#origin = origin
    this.#cookie = cookie
    this.#times = times
  }

  /** @param name by which its time is kept; undefined to keep none */
  get(path: string, name?: string): Promise<TimedPage> {
    return this.#ask(path, {}, name)
  }

  /**
   * Sends the form of a page.
   *
   * @param fields what is filled in
   * @param name as for {@link get}
   * @throws Error when the page has no form
   */
  send({ text }: TimedPage, fields: Readonly<Record<string, string>>, name?: string): Promise<TimedPage> {
    const [, action, content] =
      /<form class="confirm" method="post" action="([^"]*)">([^]*?)<\/form>/.exec(text) ?? []
    if (action === undefined || content === undefined) throw new Error(`there is no form:\n${text}`)
    const inputs = [...content.matchAll(/<input ([^>]*)>/g)].map(([, attributes = '']) => [
      valueOf(attributes, 'name'),
      valueOf(attributes, 'value')
    ])
    const body = new URLSearchParams({ ...Object.fromEntries(inputs), ...fields })
    return this.#ask(unescaped(action), { method: 'POST', body }, name)
  }

  async #ask(path: string, init: RequestInit, name: string | undefined): Promise<TimedPage> {
    const begun = performance.now()
    const headers = { cookie: this.#cookie, accept: 'text/html', origin: this.#origin }
    const answer = await fetch(`${this.#origin}${path}`, { ...init, headers })
    const text = await answer.text()
    if (name !== undefined) {
      const times = this.#times.get(name) ?? []
      this.#times.set(name, [...times, performance.now() - begun])
    }
    return { status: answer.status, text }
  }
}

function valueOf(attributes: string, name: string): string {
  return unescaped(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '')
}

/** A text as it was before it was escaped for HTML. */
export function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}
