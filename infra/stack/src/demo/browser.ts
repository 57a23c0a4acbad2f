import { spawn } from 'node:child_process'
import type { Storyteller } from './printing.js'

const STEPS_MAX = 10
const STEP_TIMEOUT_MS = 10_000

/** Opens a page in the person's own browser, if there is one. Errors are ignored, because its address was printed. */
export function openPage(url: string): void {
  const commands: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
    darwin: ['open', url],
    win32: ['rundll32', 'url.dll,FileProtocolHandler', url]
  }
  const [command, ...parameters] = commands[process.platform] ?? ['xdg-open', url]
  const opener = spawn(command, parameters, { stdio: 'ignore', detached: true })
  opener.on('error', () => undefined)
  opener.unref()
}

/**
 * Plays the account holder's browser: follows redirects with cookies, accepts on the consent page, and follows on until the
 * client's callback was called.
 *
 * @throws Error when an answer is not what a browser could go on with
 */
export async function acceptLikeABrowser(
  startUrl: string,
  callbackUri: string,
  story: Storyteller
): Promise<void> {
  const cookies = new Map<string, string>()
  let next: { url: string; form?: URLSearchParams } = { url: startUrl }
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    const { url, form } = next
    const method = form === undefined ? 'GET' : 'POST'
    story.sent(method, url, form === undefined ? undefined : { choice: form.get('choice') })
    const response = await fetch(url, {
      method,
      ...(form === undefined ? {} : { body: form }),
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      redirect: 'manual',
      signal: AbortSignal.timeout(STEP_TIMEOUT_MS)
    })
    keepCookies(cookies, response)
    const page = await response.text()
    story.answered(response.status)
    if (url.startsWith(callbackUri)) return
    next = afterAnswer(url, response, page)
  }
  throw new Error('the consent did not lead back to the client')
}

/** Everything here is on localhost, and cookies know no ports: one jar serves all. */
function keepCookies(cookies: Map<string, string>, response: Response): void {
  for (const cookie of response.headers.getSetCookie()) {
    const [pair = ''] = cookie.split(';')
    const separator = pair.indexOf('=')
    cookies.set(pair.slice(0, separator), pair.slice(separator + 1))
  }
}

function afterAnswer(url: string, response: Response, page: string): { url: string; form?: URLSearchParams } {
  const location = response.headers.get('location')
  if (location !== null) return { url: new URL(location, url).href }
  const fields = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  if (!response.ok || fields.length === 0) {
    throw new Error(
      `${new URL(url).origin} answered ${String(response.status)} instead of asking for consent`
    )
  }
  // The values are ids and proofs of letters and digits, which need no unescaping.
  const form = new URLSearchParams(
    Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]))
  )
  form.set('choice', 'accept')
  return { url: new URL('/', url).href, form }
}
