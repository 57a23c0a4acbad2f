import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  type System
} from '@open-payments-server/acceptance'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { findFreePort } from '@open-payments-server/local-services'
import { createLogger, systemClock } from '@open-payments-server/runtime'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { composeWeb, loadConfig } from '@open-payments-server/web'
import type { BrowserContext, Page } from 'playwright-core'
import { signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'

const MONTHLY = {
  debitAmount: { value: '2500', assetCode: 'USD', assetScale: 2 },
  interval: 'R12/2026-01-01T00:00:00Z/P1M'
}
const ALLOW = 'Allow 25.00 USD a month'

withBrowser('whoever attacks consent or signing in', () => {
  let setting: Setting
  let system: System
  let browser: TestBrowser

  beforeAll(async () => {
    setting = await startSetting()
    ;({ system } = setting)
    for (const [accountName, sub] of [
      ['alice', 'alice'],
      ['bob', 'bob']
    ] as const) {
      const holder = { issuer: setting.issuer, sub }
      await callUnary(system.operator, 'setAccountHolder', { accountName, holder }, { idempotent: true })
    }
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  const ask = (): Promise<PendingGrant> =>
    requestInteractiveGrant(system, system.shop, [outgoingAccess(system, MONTHLY)], {
      method: 'redirect',
      uri: `${setting.callback}/?order=17`,
      nonce: 'client-nonce'
    })
  /** A browser of somebody's own that has opened a URL, and whose person has signed in. */
  const openAs = async (name: string, url: string): Promise<{ context: BrowserContext; page: Page }> => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(url)
    await signIn(page, name)
    return { context, page }
  }
  const press = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('button', { name }).click()
    await page.waitForLoadState()
  }
  const title = (page: Page): Promise<string | null> => page.textContent('h1')
  const cookieOf = async (context: BrowserContext): Promise<string> =>
    (await context.cookies(setting.pages)).map(({ name, value }) => `${name}=${value}`).join('; ')
  const formOf = async (page: Page): Promise<Record<string, string>> => {
    const inputs = await page.locator('form.actions input').all()
    const pairs = inputs.map(
      async (input) => [await input.getAttribute('name'), await input.inputValue()] as const
    )
    return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>
  }
  const post = async (fields: Record<string, string>, cookie: string): Promise<number> => {
    const body = new URLSearchParams({ ...fields, choice: 'allow' })
    const answer = await fetch(`${setting.pages}/consent`, {
      method: 'POST',
      body,
      headers: { cookie },
      redirect: 'manual'
    })
    return answer.status
  }
  const get = (url: string, cookie = ''): Promise<Response> =>
    fetch(url, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' })
  /** What became of a grant request, and what was recorded of it. */
  const stateOf = (grant: PendingGrant): Promise<unknown> =>
    system.authDatabase.query(
      `select g.state, (select count(*) from consent_record c where c.grant_id = g.id) as records
         from grant_request g where g.id = $1`,
      [grant.continueUri.split('/').at(-1)]
    )
  /** URLs to which the issuer sends a page back, from now on. */
  const returnsOf = (page: Page): string[] => {
    const urls: string[] = []
    page.on('request', (request) => {
      if (request.url().startsWith(`${setting.pages}/signed-in`)) urls.push(request.url())
    })
    return urls
  }

  it('has nothing of a form that was made for another browser', async () => {
    const grant = await ask()
    const before = await stateOf(grant)
    const { context, page } = await openAs('alice', grant.redirect)
    const fields = await formOf(page)
    const mallory = await openAs('mallory', `${setting.pages}/`)
    const bob = await openAs('bob', `${setting.pages}/`)
    // Alice herself, but in a browser that she was not asked in.
    const elsewhere = await openAs('alice', `${setting.pages}/`)
    for (const other of [mallory, bob, elsewhere])
      expect(await post(fields, await cookieOf(other.context))).toBe(403)
    expect(await post(fields, '')).toBe(403)
    expect(await stateOf(grant)).toEqual(before)
    await Promise.all([context, mallory.context, bob.context, elsewhere.context].map((one) => one.close()))
  })

  it('has nothing of a session that was swapped for another while the question was open', async () => {
    const grant = await ask()
    const { context, page } = await openAs('alice', grant.redirect)
    const other = await context.newPage()
    await other.goto(`${setting.pages}/sign-in?as=other`)
    await signIn(other, 'bob')
    const before = await stateOf(grant)
    await press(page, ALLOW)
    expect(await title(page)).toBe('Nothing was done')
    expect(await stateOf(grant)).toEqual(before)
    await context.close()
  })

  it('has nothing of the person at the issuer being another one than at the page', async () => {
    const grant = await ask()
    const { context, page } = await openAs('alice', grant.redirect)
    // The issuer forgets alice; bob signs in there when the browser passes by.
    await context.clearCookies({ domain: 'localhost', name: /^issuer_/ })
    const before = await stateOf(grant)
    await press(page, ALLOW)
    await signIn(page, 'bob')
    expect(await title(page)).toBe('Somebody else signed in')
    expect(await stateOf(grant)).toEqual(before)
    await context.close()
  })

  it('cannot go back and allow again, nor repeat what came from the issuer', async () => {
    const grant = await ask()
    const { context, page } = await openAs('alice', grant.redirect)
    const question = page.url()
    const returns = returnsOf(page)
    await press(page, ALLOW)
    expect(await title(page)).toBe('back at the shop')
    const allowed = await stateOf(grant)
    await page.goto(question)
    expect(await title(page)).toBe('This request was decided already')
    expect(await page.getByRole('button', { name: /Allow/ }).count()).toBe(0)
    const [back = ''] = returns
    expect(back).toContain('code=')
    expect((await get(back, await cookieOf(context))).status).toBe(400)
    expect((await get(back)).status).toBe(400)
    expect(await stateOf(grant)).toEqual(allowed)
    await context.close()
  })

  /** A browser without pages that is on its way to the issuer. */
  const beginSignIn = async () => {
    const begun = await get(`${setting.pages}/sign-in`)
    const cookies = begun.headers.getSetCookie().map((one) => one.split(';', 1)[0])
    return { url: begun.headers.get('location') ?? '', cookie: cookies.join('; ') }
  }
  /** Where the issuer sends somebody back who signs in there, with a code that nobody has used. */
  const unusedReturn = async (url: string): Promise<URL> => {
    const { context, page } = await openAs('mallory', url)
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
