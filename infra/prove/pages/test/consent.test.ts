import {
  createReceiver,
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import type { BrowserContext, Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import { leave, signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'

const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
const MONTHLY = { debitAmount: usd('2500'), interval: 'R120/2026-01-01T00:00:00Z/P1M' }

withBrowser('consent', () => {
  let setting: Setting
  let system: System
  let browser: TestBrowser

  beforeAll(async () => {
    setting = await startSetting()
    ;({ system } = setting)
    await holds('alice', 'alice')
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  const holds = (accountName: string, sub: string): Promise<unknown> => {
    const holder = { issuer: setting.issuer, sub }
    return callUnary(system.operator, 'setAccountHolder', { accountName, holder }, { idempotent: true })
  }
  const ask = (
    access: object[] = [outgoingAccess(system, MONTHLY)],
    callback = setting.callback
  ): Promise<PendingGrant> =>
    requestInteractiveGrant(system, system.shop, access, {
      method: 'redirect',
      uri: `${callback}/?order=17`,
      nonce: 'client-nonce'
    })
  const open = async (context: BrowserContext, url: string): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(url)
    return page
  }
  const press = async (page: Page, name: string): Promise<void> => {
    await leave(page, () => page.getByRole('button', { name }).click())
  }
  const title = (page: Page): Promise<string | null> => page.textContent('h1')
  /** What the form of a page has. */
  const formOf = async (page: Page): Promise<Record<string, string>> => {
    const inputs = await page.locator('form.actions input').all()
    const pairs = inputs.map(
      async (input) => [await input.getAttribute('name'), await input.inputValue()] as const
    )
    return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>
  }
  const cookieOf = async (context: BrowserContext): Promise<string> => {
    const cookies = await context.cookies(setting.pages)
    return cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  }
  const post = (path: string, fields: Record<string, string>, headers: Record<string, string>) =>
    fetch(`${setting.pages}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers,
      redirect: 'manual'
    })
  const continueGrant = async (grant: PendingGrant, page: Page) => {
    await system.passSeconds(grant.waitSeconds)
    const reference = new URL(page.url()).searchParams.get('interact_ref')
    return system.shop.request('POST', grant.continueUri, {
      accessToken: grant.continuationToken,
      ...(reference === null ? {} : { body: { interact_ref: reference } })
    })
  }

  it('is asked of whoever signs in, proved, and recorded', async () => {
    const grant = await ask()
    const page = await open(browser.context, grant.redirect)
    await signIn(page, 'alice')
    expect(page.url()).toContain(`${setting.pages}/consent?`)
    expect(await title(page)).toMatch(/^Let .* take up to 25\.00\sUSD a month$/)
    expect(await findViolations(page)).toEqual([])
    await press(page, 'Allow 25.00 USD a month')
    expect(await title(page)).toBe('back at the shop')
    const token = await continueGrant(grant, page)
    expect(token.at('access_token.access.0.limits.debitAmount.value')).toBe('2500')
    const [record] = await system.authDatabase.query('select document, sub from consent_record')
    expect(record?.sub).toBe('alice')
    expect(JSON.parse(String(record?.document))).toMatchObject({
      language: 'en',
      words: expect.arrayContaining([expect.stringMatching(/^Let .* take up to 25\.00\sUSD a month$/)])
    })
  })

  it('grants less where less was shown, and tells the issuer what is granted', async () => {
    const grant = await ask()
    const page = await open(browser.context, grant.redirect)
    await page.click('summary')
    await page.fill('input[name=amount-0]', '20.00')
    await page.fill('input[name=times-0]', '3')
    await press(page, 'Show what that means')
    expect(await title(page)).toMatch(/20\.00\sUSD a month$/)
    const asked = page.waitForRequest((request) => request.url().startsWith(`${setting.issuer}/auth?`))
    await press(page, 'Allow 20.00 USD a month')
    const details = new URL((await asked).url()).searchParams.get('authorization_details')
    expect(JSON.parse(details ?? '')).toEqual([
      {
        type: 'payment_initiation',
        actions: ['create', 'read', 'list'],
        identifier: system.walletAddresses.alice,
        limits: { debitAmount: usd('2000'), interval: 'R3/2026-01-01T00:00:00Z/P1M' },
        instructedAmount: { currency: 'USD', amount: '20.00' }
      }
    ])
    const token = await continueGrant(grant, page)
    expect(token.at('access_token.access.0.limits')).toMatchObject({
      debitAmount: usd('2000'),
      interval: 'R3/2026-01-01T00:00:00Z/P1M'
    })
  })

  it('speaks German, and keeps what was said', async () => {
    const context = await browser.newContext({ locale: 'de-DE' })
    const grant = await ask()
    const page = await open(context, grant.redirect)
    await signIn(page, 'alice')
    expect(await title(page)).toMatch(/erlauben, bis zu 25,00\sUSD im Monat abzubuchen$/)
    expect(await page.getAttribute('html', 'lang')).toBe('de')
    await leave(page, () => page.getByRole('link', { name: 'English' }).click())
    expect(await title(page)).toMatch(/^Let .* take up to 25\.00\sUSD a month$/)
    await leave(page, () => page.getByRole('link', { name: 'Deutsch' }).click())
    await press(page, '25,00 USD im Monat erlauben')
    expect(await title(page)).toBe('back at the shop')
    expect((await continueGrant(grant, page)).status).toBe(200)
    await context.close()
  })

  it('is proved by a fresh sign-in from an amount on', async () => {
    const context = await browser.newContext()
    // The issuer has a form of its own then, which leads to whichever site asks.
    const elsewhere = setting.callback.replace('localhost', 'shop.localhost')
    const grant = await ask([outgoingAccess(system, { debitAmount: usd('500000') })], elsewhere)
    const page = await open(context, grant.redirect)
    await signIn(page, 'alice')
    // The session at the issuer has to get older than half of what the auth server takes.
    await page.waitForTimeout(6_000)
    await press(page, 'Allow 5,000.00 USD')
    expect(page.url()).toContain(setting.issuer)
    await signIn(page, 'alice')
    expect(await title(page)).toBe('back at the shop')
    expect((await continueGrant(grant, page)).status).toBe(200)
    await context.close()
  })

  it('ends in the client when it is declined', async () => {
    const grant = await ask()
    const page = await open(browser.context, grant.redirect)
    await press(page, 'Decline')
    expect(new URL(page.url()).searchParams.get('result')).toBe('grant_rejected')
    expect((await continueGrant(grant, page)).status).toBe(401)
  })

  it('warns of a grant without a limit, and shows what strangers wrote as text', async () => {
    const grant = await ask([outgoingAccess(system)])
    const page = await open(browser.context, grant.redirect)
    expect(await title(page)).toMatch(/take any amount$/)
    expect(await page.textContent('.warning')).toContain('There is no limit')
    expect(await page.textContent('footer')).toContain('alice <b>Example</b>')
    expect(await page.locator('footer b').count()).toBe(0)
    expect(await findViolations(page)).toEqual([])
  })

  it('is not asked of somebody who does not hold the wallet', async () => {
    const context = await browser.newContext()
    const grant = await ask()
    const page = await open(context, grant.redirect)
    await signIn(page, 'mallory')
    expect(await title(page)).toBe('This request is for somebody else')
    expect(await page.content()).not.toContain('25.00')
    expect(await findViolations(page)).toEqual([])
    await page.getByRole('link', { name: 'Sign in as somebody else' }).click()
    await signIn(page, 'alice')
    expect(await title(page)).toMatch(/25\.00\sUSD a month$/)
    await context.close()
  })

  it('does not mix tabs', async () => {
    const context = await browser.newContext()
    const [one, other] = [await ask(), await ask([outgoingAccess(system, { debitAmount: usd('700') })])]
    const first = await open(context, one.redirect)
    const second = await open(context, other.redirect)
    await signIn(first, 'alice')
    await second.goto(other.redirect)
    expect(await title(first)).toMatch(/25\.00\sUSD a month$/)
    expect(await title(second)).toMatch(/7\.00\sUSD$/)
    await press(first, 'Allow 25.00 USD a month')
    await press(second, 'Allow 7.00 USD')
    for (const [grant, page, value] of [
      [one, first, '2500'],
      [other, second, '700']
    ] as const) {
      const token = await continueGrant(grant, page)
      expect(token.at('access_token.access.0.limits.debitAmount.value')).toBe(value)
    }
    await context.close()
  })

  it('takes no form that was not given to the browser, nor one from another site', async () => {
    const grant = await ask()
    const page = await open(browser.context, grant.redirect)
    const fields = await formOf(page)
    const cookie = await cookieOf(browser.context)
    const other = await open(browser.context, (await ask()).redirect)
    const ofOther = await formOf(other)
    const variants: [Record<string, string>, Record<string, string>][] = [
      [{ token: 'x'.repeat(43) }, {}],
      [{ token: ofOther.token ?? '' }, {}],
      [{}, { 'sec-fetch-site': 'cross-site' }],
      [{}, { 'sec-fetch-site': 'same-site' }],
      [{}, { origin: 'https://evil.example' }],
      [{}, { cookie: '' }],
      [{ hash: ofOther.hash ?? '' }, {}],
      [{ 'amount-0': '24.00' }, {}]
    ]
    for (const [changed, headers] of variants) {
      const answer = await post(
        '/consent',
        { ...fields, choice: 'allow', ...changed },
        { cookie, ...headers }
      )
      expect([403, 409]).toContain(answer.status)
    }
    await press(page, 'Allow 25.00 USD a month')
    expect(await title(page)).toBe('back at the shop')
  })

  it('names a payee at another provider by its wallet address, and signs that', async () => {
    const other = await startSystem({ clock: system.clock })
    const context = await browser.newContext()
    try {
      const { url: receiver } = await createReceiver(other, other.shop)
      const grant = await ask([outgoingAccess(system, { receiver, debitAmount: usd('1000') })])
      const page = await open(context, grant.redirect)
      await signIn(page, 'alice')
      const { host } = new URL(receiver)
      const payee = `${host}/bob`
      expect(await title(page)).toMatch(new RegExp(`^Pay 10\\.00\\sUSD to ${payee}$`))
      expect(await page.textContent('dl')).toContain(`at another provider, ${host}`)
      const fields = await formOf(page)
      const cookie = await cookieOf(context)
      const { 'payee-0': told = '', ...untold } = fields
      expect(told).toBe(other.walletAddresses.bob)
      for (const forged of [untold, { ...untold, 'payee-0': `${told}-shop` }]) {
        const answer = await post('/consent', { ...forged, choice: 'allow' }, { cookie })
        expect(answer.status).toBe(403)
      }
      // What was read is what is signed, though its provider is silent by now.
      await other.stop()
      await press(page, 'Pay 10.00 USD')
      expect(await title(page)).toBe('back at the shop')
      expect((await continueGrant(grant, page)).status).toBe(200)
      const words = (document: unknown) => (JSON.parse(String(document)) as { words: string[] }).words
      const records = await system.authDatabase.query('select document from consent_record')
      expect(records.flatMap(({ document }) => words(document).slice(0, 1))).toContainEqual(
        expect.stringMatching(new RegExp(`^Pay 10\\.00\\sUSD to ${payee}$`))
      )
    } finally {
      await context.close()
      await other.stop()
    }
  })

  it('says when a request was decided, is gone, or has expired', async () => {
    const url = `${setting.pages}/consent?interactId=unknown&nonce=unknown`
    const page = await open(browser.context, url)
    expect(await title(page)).toBe('This request is gone')
    const grant = await ask()
    await page.goto(grant.redirect)
    const late = page.url()
    system.clock.advanceSeconds(601)
    await page.goto(late)
    expect(await title(page)).toBe('This request has expired')
    expect(await findViolations(page)).toEqual([])
  })
})
