import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { findFreePort } from '@open-payments-server/local-services'
import { createLogger, systemClock } from '@open-payments-server/runtime'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { composeWeb, loadConfig } from '@open-payments-server/web'
import { signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'

withBrowser('whoever attacks signing in', () => {
  let setting: Setting
  let browser: TestBrowser

  beforeAll(async () => {
    setting = await startSetting()
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  const get = (url: string, cookie = ''): Promise<Response> =>
    fetch(url, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' })
  /** A browser without pages that is on its way to the issuer. */
  const beginSignIn = async () => {
    const begun = await get(`${setting.pages}/sign-in`)
    const cookies = begun.headers.getSetCookie().map((one) => one.split(';', 1)[0])
    return { url: begun.headers.get('location') ?? '', cookie: cookies.join('; ') }
  }
  /** Where the issuer sends somebody back who signs in there, with a code that nobody has used. */
  const unusedReturn = async (url: string): Promise<URL> => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(url)
    await signIn(page, 'mallory')
    const back = new URL(page.url())
    expect(back.searchParams.get('code')).toMatch(/./)
    await context.close()
    return back
  }
  const startsSession = async (url: URL, cookie: string): Promise<[number, boolean]> => {
    const answer = await get(url.href, cookie)
    return [answer.status, answer.headers.getSetCookie().some((one) => one.startsWith('holder-session='))]
  }

  it('signs nobody in with a code that another browser was given', async () => {
    const stolen = await unusedReturn((await beginSignIn()).url)
    const victim = await beginSignIn()
    stolen.searchParams.set('state', new URL(victim.url).searchParams.get('state') ?? '')
    expect(await startsSession(stolen, victim.cookie)).toEqual([400, false])
  })

  it('signs nobody in with the word of another issuer', async () => {
    const { url, cookie } = await beginSignIn()
    const back = await unusedReturn(url)
    const mixed = new URL(back)
    mixed.searchParams.set('iss', 'https://login.evil.example')
    expect(await startsSession(mixed, cookie)).toEqual([400, false])
    expect(await startsSession(back, cookie)).toEqual([303, true])
  })

  it('signs nobody out with what the issuer did not say', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${setting.pages}/`)
    const finished = page.waitForRequest((request) => request.url().startsWith(`${setting.pages}/signed-in`))
    await signIn(page, 'alice')
    await finished
    const cookie = (await context.cookies(setting.pages))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    const told = page.waitForRequest((request) => request.url().startsWith(`${setting.issuer}/session/end?`))
    // Stopped on its way, so that nobody is signed out there.
    await page.route(`${setting.issuer}/session/end?*`, (route) => route.abort())
    const answers = []
    for (const logoutToken of ['', 'x', 'eyJhbGciOiJub25lIn0.eyJzaWQiOiJ4In0.']) {
      const body = new URLSearchParams({ logout_token: logoutToken })
      answers.push((await fetch(`${setting.pages}/signed-out-at-issuer`, { method: 'POST', body })).status)
    }
    expect(answers).toEqual([400, 400, 400])
    expect((await get(`${setting.pages}/`, cookie)).status).toBe(200)
    await page.getByRole('button', { name: 'Sign out' }).click()
    const idToken = new URL((await told).url()).searchParams.get('id_token_hint') ?? ''
    await context.close()
    // The issuer's own word, for this client, with `sid`: but that somebody signed in, not out.
    const body = new URLSearchParams({ logout_token: idToken })
    const answer = await fetch(`${setting.pages}/signed-out-at-issuer`, { method: 'POST', body })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('logout_token')])
  })

  it.each<[string, () => string]>([
    ['forged', () => `holder-session=${randomBytes(200).toString('base64url')}`],
    ['not even encrypted', () => 'holder-session=eyJzdWIiOiJhbGljZSJ9'],
    ['oversized', () => `holder-session=${'x'.repeat(12_000)}`],
    ['many at once', () => Array.from({ length: 200 }, () => 'holder-session=x').join('; ')]
  ])('is signed in by no session that is %s', async (_what, cookie) => {
    const answer = await get(`${setting.pages}/`, cookie())
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toContain(setting.issuer)
  })
})

describe('an issuer that is', () => {
  /** The pages alone, whose issuer is at a URL. */
  async function startPages(issuer: string): Promise<{ url: string; stop(): Promise<void> }> {
    const port = await findFreePort()
    const url = `http://localhost:${String(port)}`
    const config = loadConfig({
      ENVIRONMENT: 'development',
      HTTP_HOST: 'localhost',
      HTTP_PORT: String(port),
      PUBLIC_URL: url,
      ISSUER: issuer,
      CLIENT_ID: 'pages',
      SESSION_KEY: randomBytes(24).toString('hex'),
      AUTH_API_URL: 'http://127.0.0.1:1',
      IDENTITY_PROVIDER_SECRET: randomBytes(24).toString('hex'),
      AUTH_GRPC_TARGET: '127.0.0.1:1',
      RESOURCE_GRPC_TARGET: '127.0.0.1:1',
      PROVIDER_NAME: 'Example Wallet'
    })
    const logger = createLogger({ service: 'web', level: 'silent' })
    const web = await composeWeb(config, { logger, clock: systemClock })
    return { url, stop: () => web.stop() }
  }
  const refused = async (issuer: string): Promise<void> => {
    const pages = await startPages(issuer)
    try {
      const answer = await fetch(`${pages.url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' })
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([503, null])
      expect(answer.headers.get('retry-after')).not.toBeNull()
      expect(await answer.text()).toContain('<h1')
    } finally {
      await pages.stop()
    }
  }

  it('down leaves people outside, with a page that says so', async () => {
    await refused(`http://localhost:${String(await findFreePort())}`)
  })

  it.each<[string, (respond: (status: number, body: string) => void) => void]>([
    ['answers nothing', () => undefined],
    [
      'answers an error',
      (respond) => {
        respond(500, '{}')
      }
    ],
    [
      'says that it is another one',
      (respond) => {
        respond(
          200,
          JSON.stringify({
            issuer: 'https://login.evil.example',
            authorization_endpoint: 'https://login.evil.example/auth',
            token_endpoint: 'https://login.evil.example/token'
          })
        )
      }
    ]
  ])('%s does so too', async (_what, answer) => {
    const server = createServer((_request, response) => {
      answer((status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(body))
    }).listen(0, 'localhost')
    await once(server, 'listening')
    try {
      await refused(`http://localhost:${String((server.address() as AddressInfo).port)}`)
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})
