import { z } from 'zod'
import type { StackFile } from '../stack/stack-file.js'
import type { Storyteller } from './printing.js'

const STEP_TIMEOUT_MS = 10_000

const accepted = z.object({ finishCode: z.string() })

/**
 * Consents without a person, as a provider with a page of its own can: alice's browser begins the interaction, the provider accepts
 * over the consent API with its secret, and the browser finishes and goes back to the client. See docs/consent-pages.md.
 *
 * @param startUrl where the client sends the browser
 * @throws Error when an answer is not what one could go on with
 */
export async function acceptForAlice(
  startUrl: string,
  { authServer, identityProvider }: Pick<StackFile, 'authServer' | 'identityProvider'>,
  story: Storyteller
): Promise<void> {
  const browser = new Browser(story)
  const { searchParams } = new URL(await browser.follow(startUrl))
  const [interactId, nonce] = ['interactId', 'nonce'].map((name) => searchParams.get(name) ?? '')
  const interaction = `${interactId ?? ''}/${nonce ?? ''}`
  const finishCode = await accept(`${identityProvider.api}/grant/${interaction}/accept`, {
    secret: identityProvider.secret,
    story
  })
  const finish = new URL(`interact/${interaction}/finish`, authServer)
  finish.searchParams.set('code', finishCode)
  await browser.open(await browser.follow(finish.href))
}

/** @returns the code with which the browser finishes */
async function accept(
  url: string,
  { secret, story }: { readonly secret: string; readonly story: Storyteller }
): Promise<string> {
  const body = { finishCode: true }
  story.sent('POST', url, body)
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'x-idp-secret': secret, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(STEP_TIMEOUT_MS)
  })
  const answer: unknown = await response.json()
  story.answered(response.status, answer)
  if (response.status !== 202) throw new Error('the auth server did not take the acceptance')
  return accepted.parse(answer).finishCode
}

/** As much of a browser as an interaction needs: cookies of the auth server, and redirects. */
class Browser {
  readonly #cookies = new Map<string, string>()
  readonly #story: Storyteller

  constructor(story: Storyteller) {
    this.#story = story
  }

  async open(url: string): Promise<Response> {
    this.#story.sent('GET', url)
    const response = await fetch(url, {
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      redirect: 'manual',
      signal: AbortSignal.timeout(STEP_TIMEOUT_MS)
    })
    for (const cookie of response.headers.getSetCookie()) this.#keep(cookie)
    await response.arrayBuffer()
    this.#story.answered(response.status)
    return response
  }

  /** @returns where the answer leads */
  async follow(url: string): Promise<string> {
    const { headers, status } = await this.open(url)
    const location = headers.get('location')
    if (location === null)
      throw new Error(`${new URL(url).origin} answered ${String(status)} instead of leading on`)
    return new URL(location, url).href
  }

  #keep(cookie: string): void {
    const [pair = ''] = cookie.split(';')
    const separator = pair.indexOf('=')
    this.#cookies.set(pair.slice(0, separator), pair.slice(separator + 1))
  }
}
