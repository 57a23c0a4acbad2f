import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@open-payments-server/acceptance'
import { isRedisInstalled, startRedis } from '@open-payments-server/local-services'
import { compareWithDocument, scrapeMetrics } from '@open-payments-server/testing'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import type { Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import { leave, signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'

const hasRedis = await isRedisInstalled()
const describeWithRedis = hasRedis ? describe : describe.skip
const withRedis = hasRedis ? 'share a Redis' : 'share a Redis: no redis-server on the PATH'

withBrowser('signing in', () => {
  let setting: Setting
  /** Of these tests alone: it is stopped and emptied. */
  let redis: Awaited<ReturnType<typeof startRedis>>
  let browser: TestBrowser

  beforeAll(async () => {
    redis = await startRedis()
    const redisUrl: Record<string, string> = redis === undefined ? {} : { REDIS_URL: redis.url }
    setting = await startSetting({ METRICS_PORT: '0', ...redisUrl })
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
    await redis?.stop()
  })

  const cookiesOf = async (page: Page): Promise<string> =>
    (await page.context().cookies(setting.pages)).map(({ name, value }) => `${name}=${value}`).join('; ')
  const get = (url: string, cookie = ''): Promise<Response> =>
    fetch(url, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' })
  const start = async (path = '/'): Promise<Page> => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${setting.pages}${path}`)
    return page
  }

  const signOut = async (page: Page, origin: string): Promise<void> => {
    const press = (): Promise<void> => page.getByRole('button', { name: 'Sign out' }).click()
    await press()
    await page.waitForURL((url) => url.origin === setting.issuer)
    // The issuer asks, too.
    await press()
    await page.waitForURL(`${origin}/signed-out`)
  }

  it('leads to the page that was asked for, in a cookie that scripts cannot read', async () => {
    const page = await start()
    await signIn(page, 'alice')
    expect(page.url()).toBe(`${setting.pages}/`)
    expect(await page.textContent('h1')).toBe('Payments you allow')
    expect(await page.textContent('footer')).toContain('alice <b>Example</b>')
    expect(await findViolations(page)).toEqual([])
    const session = (await page.context().cookies()).find(({ name }) => name === 'holder-session')
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/' })
    expect(session?.value).not.toContain('alice')
  })

  it('ends everywhere: a copied cookie is worth nothing after signing out', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const copied = await cookiesOf(page)
    expect((await get(`${setting.pages}/`, copied)).status).toBe(200)
    await leave(page, () => page.getByRole('button', { name: 'Sign out' }).click())
    expect((await get(`${setting.pages}/`, copied)).status).toBe(303)
  })

  it('ends when somebody signs out of the issuer elsewhere', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const elsewhere = await page.context().newPage()
    await elsewhere.goto(`${setting.console}/`)
    const copied = await cookiesOf(page)
    expect((await get(`${setting.pages}/`, copied)).status).toBe(200)
    await signOut(elsewhere, setting.console)
    expect((await get(`${setting.pages}/`, copied)).status).toBe(303)
    expect((await get(`${setting.console}/`, copied)).status).toBe(303)
    // Whoever signs in anew is not taken for the one who signed out.
    await page.goto(`${setting.pages}/`)
    await signIn(page, 'alice')
    expect((await get(`${setting.pages}/`, await cookiesOf(page))).status).toBe(200)
  })

  it('tells the issuer who signs out, so that it need not ask', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const told = page.waitForRequest((request) => request.url().startsWith(`${setting.issuer}/session/end?`))
    await signOut(page, setting.pages)
    const parameters = new URL((await told).url()).searchParams
    expect(parameters.get('id_token_hint')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    expect(parameters.get('client_id')).toBe('consent-page')
  })

  it('is begun again where the issuer broke off', async () => {
    const page = await start('/ended')
    setting.issuerFront.breaks = (path) => (path.startsWith('/token') ? 'cut' : undefined)
    await signIn(page, 'alice')
    expect(await page.textContent('h1')).toBe('Please try again')
    setting.issuerFront.breaks = () => undefined
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.waitForURL(`${setting.pages}/ended`)
  })

  it('cannot be ended by another site', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const cookie = await cookiesOf(page)
    const answer = await fetch(`${setting.pages}/sign-out`, { method: 'POST', headers: { cookie } })
    expect(answer.status).toBe(403)
    expect((await get(`${setting.pages}/`, cookie)).status).toBe(200)
  })

  it('always makes a new session, and ends the one before', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const before = await cookiesOf(page)
    await page.goto(`${setting.pages}/sign-in`)
    const after = await cookiesOf(page)
    expect(after).not.toBe(before)
    expect((await get(`${setting.pages}/`, before)).status).toBe(303)
    expect((await get(`${setting.pages}/`, after)).status).toBe(200)
  })

  it('is finished only in the browser that began it, and once', async () => {
    const page = await start()
    const callbacks: string[] = []
    page.on('request', (request) => {
      if (request.url().startsWith(`${setting.pages}/signed-in`)) callbacks.push(request.url())
    })
    await signIn(page, 'alice')
    const [callback = ''] = callbacks
    expect((await get(callback)).status).toBe(400)
    expect((await get(callback, await cookiesOf(page))).status).toBe(400)
    const forged = await get(`${setting.pages}/signed-in?code=x&state=y`)
    expect(forged.status).toBe(400)
    expect(forged.headers.get('set-cookie')).toBeNull()
  })

  it.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '/%0d%0aset-cookie:a=b'
  ])('leads nowhere else: %j', async (to) => {
    const language = await get(
      `${setting.pages}/language?${new URLSearchParams({ set: 'de', to }).toString()}`
    )
    expect(new URL(language.headers.get('location') ?? '').origin).toBe(setting.pages)
    const page = await start(`/sign-in?${new URLSearchParams({ to }).toString()}`)
    await signIn(page, 'alice')
    expect(new URL(page.url()).origin).toBe(setting.pages)
  })

  it('at the console is another one, with the roles that the issuer says', async () => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${setting.console}/`)
    await signIn(page, 'operator')
    expect(await page.textContent('footer')).toContain('Signed in as operator <b>Example</b>')
    expect(await findViolations(page)).toEqual([])
    const names = (await page.context().cookies()).map(({ name }) => name)
    expect(names).toContain('console-session')
    const renamed = (await cookiesOf(page)).replaceAll('console-', 'holder-')
    expect((await get(`${setting.pages}/`, renamed)).status).toBe(303)
    expect((await get(`${setting.console}/consent?interactId=a&nonce=b`)).status).toBe(404)
  })

  it('has pages that run nothing, and cannot be framed or cached', async () => {
    const answer = await get(`${setting.pages}/signed-out`)
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|script-src/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(await answer.text()).not.toMatch(/<script|style=| on[a-z]+=/i)
  })

  it('says so when a page does not exist', async () => {
    const page = await start('/admin')
    expect(await page.textContent('h1')).toBe('There is no such page')
    expect(await findViolations(page)).toEqual([])
  })

  it('fails at most once when the issuer signs with a key that it did not announce', async () => {
    for (const person of ['alice', 'bob', 'carol'] as const) {
      await setting.rotateIssuerKeys()
      const page = await start()
      await signIn(page, person)
      if ((await page.textContent('h1')) === 'This did not work') {
        await page.getByRole('link', { name: 'Sign in' }).click()
        await page.waitForURL(`${setting.pages}/`)
      }
      expect(await page.textContent('h1')).toBe('Payments you allow')
    }
  })

  it('is measured, as all of the pages is, by what the documentation names', async () => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${setting.console}/`)
    await signIn(page, 'operator')
    const holder = await start()
    await signIn(holder, 'alice')
    await holder.reload()
    await page.reload()
    const scrape = await scrapeMetrics(setting.web.metricsPort)
    const labels = [
      ...['pages', 'console'].map((each) => `listener="${each}",method="GET",route="/",status="200"`),
      'method="HolderService/ListHolderAccounts",code="OK"',
      'method="PeerService/CountUnknownPackets",code="OK"'
    ]
    for (const each of labels)
      expect(scrape.text).toMatch(new RegExp(`_duration_seconds_count{${each}} [1-9]`))
    // Published only if gRPC has certificates.
    expect(await compareWithDocument(scrape.text, 'web')).toEqual([
      'open_payments_tls_certificate_expiry_timestamp_seconds is not published'
    ])
  })

  describeWithRedis(`at replicas that ${withRedis}`, () => {
    let replica: { readonly pages: string; readonly console: string }
    beforeAll(async () => {
      replica = await setting.startReplica()
    })

    const statusOf = async (url: string, cookie: string): Promise<number> => (await get(url, cookie)).status
    const flush = async (): Promise<void> => {
      const socket = connect(Number(new URL(redis?.url ?? '').port), '127.0.0.1')
      socket.end('FLUSHALL\r\n')
      expect(String((await once(socket, 'data'))[0])).toBe('+OK\r\n')
    }
    /** Nobody counts as signed in for the moment in which Redis may have lost what was just marked. */
    const whenTold = (url: string, cookie: string): Promise<void> =>
      eventually('Redis tells who signed out', async () => (await statusOf(url, cookie)) !== 503)

    it('holds at each, and ends at each', async () => {
      const page = await start()
      await signIn(page, 'alice')
      const cookie = await cookiesOf(page)
      for (const { pages } of [setting, replica]) expect(await statusOf(`${pages}/`, cookie)).toBe(200)
      await leave(page, () => page.getByRole('button', { name: 'Sign out' }).click())
      for (const { pages } of [setting, replica]) expect(await statusOf(`${pages}/`, cookie)).toBe(303)
    })

    it('ends at each when somebody signs out of the issuer', async () => {
      const page = await start()
      await signIn(page, 'alice')
      await page.goto(`${setting.console}/`)
      const cookie = await cookiesOf(page)
      expect(await statusOf(`${replica.pages}/`, cookie)).toBe(200)
      await signOut(page, setting.console)
      // The issuer waits for its word to be heard for a while, and then goes on.
      for (const origin of [replica.pages, replica.console])
        await eventually('the session has ended', async () => (await statusOf(`${origin}/`, cookie)) === 303)
    })

    it('counts for nothing while Redis is away, and is not said to have ended', async () => {
      const page = await start()
      await signIn(page, 'alice')
      const cookie = await cookiesOf(page)
      const port = Number(new URL(redis?.url ?? '').port)
      await redis?.stop()
      try {
        for (const { pages } of [setting, replica]) {
          const answer = await get(`${pages}/`, cookie)
          expect([answer.status, answer.headers.get('set-cookie')]).toEqual([503, null])
          expect(await answer.text()).not.toContain('alice')
        }
        await leave(page, () => page.getByRole('button', { name: 'Sign out' }).click())
        expect(await page.textContent('h1')).toBe('Please try again')
        expect(await findViolations(page)).toEqual([])
      } finally {
        redis = await startRedis({ port })
      }
      // It kept nothing, so that it cannot tell that nobody signed out.
      for (const { pages } of [setting, replica]) {
        await whenTold(`${pages}/`, cookie)
        expect(await statusOf(`${pages}/`, cookie)).toBe(303)
      }
    })

    it('does not come back once Redis has lost that somebody signed out', async () => {
      const page = await start()
      await signIn(page, 'alice')
      const cookie = await cookiesOf(page)
      await signOut(page, setting.pages)
      await flush()
      for (const { pages } of [setting, replica]) {
        await whenTold(`${pages}/`, cookie)
        expect(await statusOf(`${pages}/`, cookie)).toBe(303)
      }
      const later = await start()
      await signIn(later, 'alice')
      await whenTold(`${setting.pages}/`, await cookiesOf(later))
      expect(await statusOf(`${replica.pages}/`, await cookiesOf(later))).toBe(200)
    })
  })
})
