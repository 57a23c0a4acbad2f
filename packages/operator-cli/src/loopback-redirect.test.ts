import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { listenForRedirect, type LoopbackRedirect, type Returned } from './loopback-redirect.js'

const STATE = 'k7Qw0Zl3Xy9Tn2Vb5Rc8Me1Jd4Hf6Gs-Au_PoIiLkWq'

let redirect: LoopbackRedirect
let returned: Returned | undefined
beforeEach(async () => {
  returned = undefined
  redirect = await listenForRedirect(STATE)
  void redirect.returned.then((first) => {
    returned = first
  })
})
afterEach(() => redirect.close())

/** Sends bytes, and reads the whole answer. */
async function send(...lines: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(redirect.redirectUri).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return text(socket)
}

const host = (): string => `Host: ${new URL(redirect.redirectUri).host}`

describe('what the browser comes back to', () => {
  it('takes the answer that was asked for, and says in words that the window can be closed', async () => {
    const page = fetch(`${redirect.redirectUri}?code=c&state=${STATE}`)
    const { url, answer } = await redirect.returned
    expect(url.href).toBe(`${redirect.redirectUri}?code=c&state=${STATE}`)
    await answer(true)
    const response = await page
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining('You can close this window')
    ])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-security-policy':
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin'
    })
    expect(response.headers.has('access-control-allow-origin')).toBe(false)
  })

  it('listens on loopback alone, on a port of its own', async () => {
    const other = await listenForRedirect(STATE)
    expect(redirect.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/signed-in$/)
    expect(other.redirectUri).not.toBe(redirect.redirectUri)
    await other.close()
    await expect(fetch(other.redirectUri)).rejects.toThrow('fetch failed')
  })

  it('refuses a second request, whoever sends it, also while the first one waits', async () => {
    const url = `${redirect.redirectUri}?code=c&state=${STATE}`
    const first = fetch(url)
    const { answer } = await redirect.returned
    expect((await fetch(url)).status).toBe(410)
    expect((await fetch(url.replace('code=c', 'code=d'))).status).toBe(410)
    await answer(false)
    expect((await first).status).toBe(400)
    expect((await fetch(url)).status).toBe(410)
  })

  it.each([
    ['without a state', '?code=c'],
    ['with another state', `?code=c&state=${STATE.replace('k', 'l')}`],
    ['with a part of the state', `?code=c&state=${STATE.slice(1)}`],
    ['with two states', `?code=c&state=${STATE}&state=${STATE}`],
    ['with an error that nobody asked for', '?error=access_denied']
  ])('refuses an answer %s, and goes on waiting', async (_what, query) => {
    const response = await fetch(`${redirect.redirectUri}${query}`)
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('Nobody asked for this sign-in.')
    ])
    expect(returned).toBeUndefined()
  })

  it.each<[string, () => string[], number]>([
    ['another path', () => [`GET /?state=${STATE} HTTP/1.1`, host()], 404],
    ['no path', () => ['GET // HTTP/1.1', host()], 404],
    ['another site', () => [`GET http://evil.test/signed-in?state=${STATE} HTTP/1.1`, host()], 404],
    ['a name that leads here', () => [`GET /signed-in?state=${STATE} HTTP/1.1`, 'Host: evil.test'], 421],
    ['the name of this machine', () => [`GET /signed-in?state=${STATE} HTTP/1.1`, 'Host: localhost'], 421],
    ['another method', () => [`POST /signed-in?state=${STATE} HTTP/1.1`, host(), 'Content-Length: 0'], 405]
  ])('refuses a request for %s', async (_what, lines, status) => {
    expect(await send(...lines())).toMatch(new RegExp(`^HTTP/1\\.1 ${String(status)} `))
    expect(returned).toBeUndefined()
  })

  it('does not wait for a browser that has left', async () => {
    const leaving = new AbortController()
    const page = fetch(`${redirect.redirectUri}?state=${STATE}`, { signal: leaving.signal })
    const { answer } = await redirect.returned
    leaving.abort()
    await expect(page).rejects.toThrow('aborted')
    await answer(true)
  })
})
