import {
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  type System
} from '@open-payments-server/acceptance'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import type { BrowserContext, Page } from 'playwright-core'
import { leave, signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'

/** INTERACTION_LIFETIME_SECONDS unless set. */
const LIFETIME_SECONDS = 600
const ALLOW = 'Allow 25.00 USD'

withBrowser('consent that is attacked', () => {
  let setting: Setting
  let system: System
  let browser: TestBrowser
  /** Profiles of two people, which share nothing. */
  let mine: BrowserContext
  let theirs: BrowserContext

  beforeAll(async () => {
    setting = await startSetting()
    ;({ system } = setting)
    const holder = { issuer: setting.issuer, sub: 'alice' }
    const request = { accountName: 'alice', holder }
    await callUnary(system.operator, 'setAccountHolder', request, { idempotent: true })
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })
  beforeEach(async () => {
    mine = await browser.newContext()
    theirs = await browser.newContext()
  })
  afterEach(async () => {
    setting.authApi.breaks = () => undefined
    await mine.close()
    await theirs.close()
  })

  const ask = (): Promise<PendingGrant> => {
    const access = outgoingAccess(system, { debitAmount: { value: '2500', assetCode: 'USD', assetScale: 2 } })
    const finish = { method: 'redirect', uri: `${setting.callback}/?order=17`, nonce: 'client-nonce' }
    return requestInteractiveGrant(system, system.shop, [access], finish)
  }
  const open = async (context: BrowserContext, url: string): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(url)
    return page
  }
  /** Opens a request, and signs in for it. */
  const openAs = async (context: BrowserContext, name: string, url: string): Promise<Page> => {
    const page = await open(context, url)
    await signIn(page, name)
    return page
  }
  const press = async (page: Page, name: string): Promise<void> => {
    await leave(page, () => page.getByRole('button', { name }).click())
  }
  const title = (page: Page): Promise<string | null> => page.textContent('h1')
  const fieldsOf = async (page: Page): Promise<Record<string, string>> => {
    const inputs = await page.locator('form.actions input').all()
    const pairs = inputs.map(
      async (input) => [await input.getAttribute('name'), await input.inputValue()] as const
    )
    return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>
  }
  /** Sends a form as no page does: with the cookies of a browser, and any headers. */
  const post = async (
    context: BrowserContext,
    fields: Record<string, string>,
    headers: Record<string, string> = {}
  ): Promise<Response> => {
    const cookies = await context.cookies(setting.pages)
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    return fetch(`${setting.pages}/consent`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { accept: 'text/html', cookie, ...headers },
      redirect: 'manual'
    })
  }
  const continueGrant = async (grant: PendingGrant, reference: string | null) => {
    await system.passSeconds(grant.waitSeconds)
    return system.shop.request('POST', grant.continueUri, {
      accessToken: grant.continuationToken,
      body: { interact_ref: reference }
    })
  }
  const referenceOf = (page: Page): string | null => new URL(page.url()).searchParams.get('interact_ref')

  it('is useless to whoever begins it and has somebody else agree', async () => {
    const grant = await ask()
    const attacker = await theirs.newPage()
    const led = attacker.waitForRequest((request) => request.url().startsWith(`${setting.pages}/consent`))
    await attacker.goto(grant.redirect)
    const victim = await openAs(mine, 'alice', (await led).url())
    await press(victim, ALLOW)
    expect(await title(victim)).toBe('This browser cannot finish the request')
    const { origin, pathname } = new URL(grant.redirect)
    await attacker.goto(`${origin}${pathname}/finish`)
    expect(await title(attacker)).toBe('This browser cannot finish the request')
    expect((await continueGrant(grant, 'x'.repeat(43))).status).toBe(404)
  })

  it('stays with the browser that began, while others are refused', async () => {
    const grant = await ask()
    const page = await openAs(mine, 'alice', grant.redirect)
    const refused = await open(theirs, grant.redirect)
    expect(await title(refused)).toBe('This request cannot be opened here')
    await page.reload()
    await press(page, ALLOW)
    expect(referenceOf(page)).toMatch(/^[\w-]{43}$/)
  })

  it('is for one grant: the reference of another tab is worth nothing', async () => {
    const [one, other] = [await ask(), await ask()]
    const first = await openAs(mine, 'alice', one.redirect)
    const second = await open(mine, other.redirect)
    await press(second, ALLOW)
    await press(first, ALLOW)
    expect((await continueGrant(one, referenceOf(second))).status).toBe(404)
    expect((await continueGrant(one, referenceOf(first))).status).toBe(200)
    expect((await continueGrant(other, referenceOf(second))).status).toBe(200)
  })

  it('is not given by whoever is signed in now, on a page that was shown to somebody else', async () => {
    const grant = await ask()
    const page = await openAs(mine, 'alice', grant.redirect)
    const other = await open(mine, `${setting.pages}/sign-in?as=other`)
    await signIn(other, 'mallory')
    await press(page, ALLOW)
    expect(await title(page)).toBe('Nothing was done')
    await page.goto(grant.redirect)
    expect(await title(page)).toBe('This request is for somebody else')
  })

  it('is not given by whoever is signed in at the issuer, if that is somebody else', async () => {
    const grant = await ask()
    const page = await openAs(mine, 'alice', grant.redirect)
    const other = await open(mine, `${setting.console}/sign-in?as=other`)
    await signIn(other, 'mallory')
    await press(page, ALLOW)
    expect(await title(page)).toBe('Somebody else signed in')
  })

  it('counts once: sent again, gone back to, or returned to from the issuer', async () => {
    const grant = await ask()
    const page = await openAs(mine, 'alice', grant.redirect)
    const fields = await fieldsOf(page)
    const returned = page.waitForRequest((request) => request.url().startsWith(`${setting.pages}/signed-in`))
    await press(page, ALLOW)
    expect(await title(page)).toBe('back at the shop')
    for (const choice of ['allow', 'decline'])
      expect(await (await post(mine, { ...fields, choice })).text()).toContain('You allowed this')
    const again = await open(mine, (await returned).url())
    expect(await title(again)).toBe('This sign-in does not belong here')
    const reference = referenceOf(page)
    await page.goBack()
    expect(await title(page)).toBe('You allowed this')
    expect((await continueGrant(grant, reference)).status).toBe(200)
  })

  it.each([
    ['Allow 25.00 USD', 'You allowed this'],
    ['Decline', 'You declined this']
  ])('tells its holder alone what was decided: %s', async (button, decided) => {
    const grant = await ask()
    const page = await openAs(mine, 'alice', grant.redirect)
    const consentUrl = page.url()
    await press(page, button)
    await page.goto(consentUrl)
    expect(await title(page)).toBe(decided)
    const elsewhere = await openAs(theirs, 'mallory', consentUrl)
    expect(await title(elsewhere)).toBe('This request is for somebody else')
    expect(await elsewhere.textContent('body')).not.toMatch(/decided|declined|allowed|25\.00/i)
  })

  it.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'http://localhost' },
    { origin: 'https://evil.example' }
  ])('is not taken from another site, as %j says', async (headers) => {
    const page = await openAs(mine, 'alice', (await ask()).redirect)
    const fields = { ...(await fieldsOf(page)), choice: 'decline' }
    expect((await post(mine, fields, headers)).status).toBe(403)
    expect((await post(mine, fields)).status).toBe(303)
  })

  it.each<[string, Record<string, string>, number]>([
    ['without a choice', { choice: '' }, 400],
    ['with another choice', { choice: 'perhaps' }, 400],
    ['for an id that is a path', { interactId: '../x' }, 400],
    ['too large', { padding: 'x'.repeat(20_000) }, 413]
  ])('is not taken %s', async (_how, changed, status) => {
    const page = await openAs(mine, 'alice', (await ask()).redirect)
    const fields = { ...(await fieldsOf(page)), choice: 'decline' }
    const answer = await post(mine, { ...fields, ...changed })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
    expect((await post(mine, fields)).status).toBe(303)
  })

  it.each(['', '?interactId=one', '?interactId=one&nonce=..%2Fx'])(
    'is not asked by the incomplete link "%s"',
    async (query) => {
      expect(await title(await open(mine, `${setting.pages}/consent${query}`))).toBe(
        'This link is not complete'
      )
    }
  )

  it('cannot be embedded in a frame', async () => {
    const page = await openAs(mine, 'alice', (await ask()).redirect)
    const consentUrl = page.url()
    await page.goto(setting.callback)
    const framed = page.waitForResponse((response) => response.url() === consentUrl)
    await page.evaluate(`document.body.innerHTML = '<iframe src="${consentUrl}"></iframe>'`)
    expect((await framed).status()).toBe(200)
    const [, frame] = page.frames()
    await frame?.waitForLoadState()
    expect(await frame?.getByRole('button').count()).toBe(0)
  })

  it('can be given with the keyboard alone, on a narrow phone, and breaks no policy of its own', async () => {
    const page = await mine.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto((await ask()).redirect)
    await signIn(page, 'alice')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    const focused: unknown[] = []
    while (!String(focused.at(-1)).startsWith('Allow') && focused.length < 10) {
      await page.keyboard.press('Tab')
      focused.push(await page.evaluate('document.activeElement.textContent'))
    }
    expect(focused.at(-1)).toMatch(/^Allow 25\.00\sUSD/)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${setting.callback}/**`)
    // Pages have no icon unless they have a logo.
    expect(complaints.filter((complaint) => !complaint.includes('404'))).toEqual([])
  })

  it.each([500, 401])(
    'is not asked while the auth server answers %d, which only the log says',
    async (status) => {
      const page = await openAs(mine, 'alice', (await ask()).redirect)
      setting.authApi.breaks = () => status
      const logged = setting.log.length
      await page.reload()
      expect(await title(page)).toBe('Please try again')
      expect(await page.textContent('body')).not.toContain(String(status))
      expect(setting.log.slice(logged).join('')).toContain('the auth server')
    }
  )

  it('is not said to be given when the auth server does not say so', async () => {
    const page = await openAs(mine, 'alice', (await ask()).redirect)
    setting.authApi.breaks = (path) => (path.endsWith('/accept') ? 202 : undefined)
    await press(page, ALLOW)
    expect(await title(page)).toBe('Please try again')
  })

  it('ends at its expiry, even on an open page', async () => {
    const page = await openAs(mine, 'alice', (await ask()).redirect)
    system.clock.advanceSeconds(LIFETIME_SECONDS + 1)
    await press(page, ALLOW)
    expect(await title(page)).toBe('This request has expired')
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0)
  })
})
