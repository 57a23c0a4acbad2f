import {
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  type System
} from '@open-payments-server/acceptance'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import type { BrowserContext, Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import type { Fault } from './support/breakable.js'
import { leave, signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'

/** INTERACTION_LIFETIME_SECONDS unless set. */
const LIFETIME_SECONDS = 600
const ALLOW = 'Allow 25.00 USD'
const READ = { idempotent: true }

withBrowser('consent that is attacked', () => {
  let setting: Setting
  let system: System
  let browser: TestBrowser
  /** Profiles of two people, which share nothing. */
  let mine: BrowserContext
  let theirs: BrowserContext

  beforeAll(async () => {
    // Otherwise the session here ends with that at the issuer.
    setting = await startSetting({}, { tellsOfSignOut: false })
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
    setting.issuerFront.breaks = () => undefined
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
  const follow = async (page: Page, name: string): Promise<void> => {
    await leave(page, () => page.getByRole('link', { name, exact: true }).click())
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

  it.each([ALLOW, 'Decline'])(
    'is not said to be undone when the auth server cannot be asked as somebody chooses: %s',
    async (button) => {
      const grant = await ask()
      const page = await openAs(mine, 'alice', grant.redirect)
      const asked = page.url()
      setting.authApi.breaks = () => 'cut'
      await press(page, button)
      expect(await title(page)).toBe('Please try again')
      const said = await page.textContent('main')
      expect(said).toContain('It is not known whether what you chose was done.')
      expect(said).not.toContain('Nothing was')
      expect(await findViolations(page)).toEqual([])
      setting.authApi.breaks = () => undefined
      await page.goto(asked)
      await press(page, ALLOW)
      expect((await continueGrant(grant, referenceOf(page))).status).toBe(200)
    }
  )

  it.each([
    ['accept', ALLOW, 202, 'You allowed this'],
    ['reject', 'Decline', 500, 'You declined this']
  ])(
    'is said to be what was recorded, also when no answer says so: %s',
    async (call, button, status, said) => {
      const { redirect } = await ask()
      const page = await openAs(mine, 'alice', redirect)
      const asked = page.url()
      setting.authApi.breaks = (path) => (path.endsWith(`/${call}`) ? status : undefined)
      await press(page, button)
      expect(await page.textContent('[role=status]')).toContain('So far it has not arrived')
      expect(await page.textContent('main')).not.toContain('Nothing was')
      expect(await findViolations(page)).toEqual([])
      setting.authApi.breaks = () => undefined
      if (call === 'accept') await press(page, ALLOW)
      else {
        // It arrives after all.
        const [interactId, nonce] = new URL(redirect).pathname.split('/').slice(-2)
        const arrived = await fetch(
          `${setting.authApi.url}/grant/${String(interactId)}/${String(nonce)}/reject`,
          {
            method: 'POST',
            headers: { 'x-idp-secret': system.identityProviderSecret, 'content-type': 'application/json' },
            body: '{}'
          }
        )
        expect(arrived.status).toBe(202)
      }
      await page.goto(asked)
      expect(await title(page)).toBe(said)
    }
  )

  it.each<[string, path: '/token' | '/jwks', Fault, string]>([
    ['ends the connection', '/token', 'cut', 'Please try again'],
    ['says nothing', '/token', 'silent', 'Please try again'],
    ['answers an error', '/token', 500, 'This did not work'],
    ['has new keys that cannot be read', '/jwks', 'cut', 'Please try again'],
    ['says nothing of its new keys', '/jwks', 'silent', 'Please try again'],
    ['answers an error in place of its new keys', '/jwks', 500, 'Please try again']
  ])(
    'is not given while the issuer %s between allowing and coming back, and can be given afterwards',
    async (_what, path, fault, said) => {
      const grant = await ask()
      const page = await openAs(mine, 'alice', grant.redirect)
      if (path === '/jwks') await setting.rotateIssuerKeys()
      let isAsked = false
      setting.issuerFront.breaks = (asked) => {
        if (!asked.startsWith(path)) return undefined
        isAsked = true
        return fault
      }
      await press(page, ALLOW)
      // Keys are asked for once a minute at most, and anew after one was not known.
      if (!isAsked) {
        expect(await title(page)).toBe('This did not work')
        await follow(page, 'Look again')
        await press(page, ALLOW)
      }
      expect([isAsked, await title(page)]).toEqual([true, said])
      const grantId = grant.continueUri.split('/').at(-1) ?? ''
      const { grant: now } = await callUnary(system.grantOperator, 'getGrant', { grantId }, READ)
      expect(now?.state).toBe(auth.GrantState.GRANT_STATE_PENDING)
      setting.issuerFront.breaks = () => undefined
      // A request for the keys that is still waited for is not made anew, nor one 10 s after the one before.
      for (let attempts = 0; attempts < 3 && page.url().startsWith(setting.pages); attempts += 1) {
        await system.passSeconds(10)
        await follow(page, 'Look again')
        await press(page, ALLOW)
      }
      expect((await continueGrant(grant, referenceOf(page))).status).toBe(200)
    }
  )

  it('is given by way of an issuer that is slow but answers', async () => {
    const grant = await ask()
    const page = await openAs(mine, 'alice', grant.redirect)
    setting.issuerFront.breaks = () => ({ afterMs: 1_000 })
    await press(page, ALLOW)
    expect((await continueGrant(grant, referenceOf(page))).status).toBe(200)
  })

  it('is not given when the issuer sends the browser back with an error', async () => {
    const grant = await ask()
    const page = await openAs(mine, 'alice', grant.redirect)
    setting.issuerFront.breaks = (path) => {
      const state = new URL(path, setting.issuer).searchParams.get('state') ?? ''
      const query = new URLSearchParams({ error: 'temporarily_unavailable', state, iss: setting.issuer })
      return { location: `${setting.pages}/signed-in?${query.toString()}` }
    }
    await press(page, ALLOW)
    expect(await title(page)).toBe('This did not work')
    setting.issuerFront.breaks = () => undefined
    await follow(page, 'Look again')
    await press(page, ALLOW)
    expect((await continueGrant(grant, referenceOf(page))).status).toBe(200)
  })

  it('ends at its expiry, even on an open page', async () => {
    const page = await openAs(mine, 'alice', (await ask()).redirect)
    system.clock.advanceSeconds(LIFETIME_SECONDS + 1)
    await press(page, ALLOW)
    expect(await title(page)).toBe('This request has expired')
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0)
  })
})
