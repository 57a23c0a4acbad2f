import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, outgoingAccess, type System } from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { leave, signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'
import { openShop, setHolder, type Shop, usd } from './support/shop.js'

withBrowser('how consent ends', () => {
  let setting: Setting
  let system: System
  let browser: TestBrowser
  let shop: Shop

  beforeAll(async () => {
    setting = await startSetting()
    ;({ system } = setting)
    await setHolder(setting, 'alice')
    browser = await startBrowser()
    shop = await openShop(setting, browser.context)
    const page = await open(setting.pages)
    await signIn(page, 'alice')
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  const open = async (url: string): Promise<Page> => {
    const page = await browser.context.newPage()
    await page.goto(url)
    return page
  }
  const title = async (page: Page): Promise<string> =>
    ((await page.textContent('h1')) ?? '').replaceAll('\u00a0', ' ')
  const text = async (page: Page): Promise<string> =>
    (await page.locator('main').innerText()).replaceAll('\u00a0', ' ')
  const press = (page: Page, value: string): Promise<void> =>
    leave(page, () => page.click(`button[value=${value}]`))
  /** Asks without a page of the client where the browser ends. */
  const askWithoutFinish = async (): Promise<string> => {
    const answer = await system.shop.request('POST', system.authServerUrl, {
      body: {
        client: system.shop.walletAddress,
        access_token: { access: [outgoingAccess(system, { debitAmount: usd('1200') })] },
        interact: { start: ['redirect'] }
      }
    })
    return answer.textAt('interact.redirect')
  }

  it('here, in different words for yes and no, where the client has no page for it', async () => {
    const allowed = await open(await askWithoutFinish())
    await press(allowed, 'allow')
    expect(await title(allowed)).toBe('You allowed this')
    expect(await text(allowed)).toMatch(/take up to 12\.00 USD[^]*You can close this page\./)
    expect(await findViolations(allowed)).toEqual([])
    await leave(allowed, () => allowed.getByRole('link', { name: 'See, pause, lower or stop it' }).click())
    expect(await title(allowed)).toMatch(/ may take up to 12\.00 USD$/)
    await leave(allowed, () => allowed.getByRole('link', { name: 'Receipt' }).click())
    expect(await title(allowed)).toBe('What you agreed to')
    expect(await text(allowed)).toMatch(/at most 12\.00 USD, fees included[^]*Reference/)

    const declined = await open(await askWithoutFinish())
    await press(declined, 'decline')
    expect(await title(declined)).toBe('You declined this')
    expect(await text(declined)).toContain('Nothing was agreed to, and nothing is paid.')
    expect(await findViolations(declined)).toEqual([])
  })

  it('with a way back to the client from a request that was decided', async () => {
    const { redirect } = await shop.ask()
    const page = await open(redirect)
    const consent = page.url()
    await press(page, 'allow')
    const [back] = page.url().split('&')
    await page.goto(consent)
    expect(await title(page)).toBe('You allowed this')
    await leave(page, () => page.locator('main a.primary').click())
    expect(page.url().startsWith(String(back))).toBe(true)
  })

  it.each([
    ['allow', 'localhost'],
    ['allow', '127.0.0.1'],
    ['decline', 'localhost'],
    ['decline', '127.0.0.1']
  ])('by the policy of production at a program on the own machine: %s at %s', async (choice, host) => {
    const program = createServer((_request, response) => response.end('the program'))
    await once(program.listen(0), 'listening')
    const callback = `http://${host}:${String((program.address() as AddressInfo).port)}`
    const programOf = await openShop({ ...setting, callback }, browser.context)
    const page = await open((await programOf.ask()).redirect)
    await page.route(page.url(), async (route) => {
      const response = await route.fetch()
      const { 'content-security-policy': policy = '', ...headers } = response.headers()
      const strict = policy.replace(/(form-action [^;]*) http:;/, '$1;')
      expect(strict).not.toBe(policy)
      await route.fulfill({ response, headers: { ...headers, 'content-security-policy': strict } })
    })
    await page.reload()
    await press(page, choice)
    expect(new URL(page.url()).origin).toBe(callback)
    program.close()
    program.closeAllConnections()
  })

  it('on a last day that was chosen, after which nothing is paid', async () => {
    const { redirect, collect } = await shop.ask({ debitAmount: usd('900') })
    const page = await open(redirect)
    await page.click('summary')
    await page.fill('input[name=end]', '2019-01-01')
    await leave(page, () => page.locator('details button').click())
    expect(await text(page)).toContain('The last day must be in the future')
    const days = (count: number): string =>
      new Date(system.clock.now() + count * 86_400_000).toISOString().slice(0, 10)
    await page.fill('input[name=end]', days(2))
    await leave(page, () => page.locator('details button').click())
    expect(await text(page)).toContain('This is less than was asked for.')
    const said = /see the payments that it made\s+until (.*)\s+Last day of all of it\s+(.*)\s/.exec(
      await text(page)
    )
    expect(said?.[1]).toBe(said?.[2])
    await press(page, 'allow')
    const allowed = await collect(new URL(page.url()).searchParams.get('interact_ref') ?? '')
    expect(await allowed.pay(100)).toBe(201)
    const grant = 'select ends_at from grant_request where id = $1'
    const [row] = await system.authDatabase.query<{ ends_at: Date }>(grant, [allowed.id])
    const record = 'select document from consent_record where grant_id = $1'
    const [proved] = await system.authDatabase.query<{ document: string }>(record, [allowed.id])
    expect(JSON.parse(proved?.document ?? '')).toMatchObject({ endsAt: row?.ends_at.toISOString() })
    const receipt = await open(`${setting.pages}${allowed.path}/receipt`)
    expect(await text(receipt)).toContain(`Last day of all of it\n${String(said?.[2])}`)
  })

  it('with a payee who is named by the provider', async () => {
    const { url: receiver } = await createReceiver(system, system.shop, { incoming: 1000n })
    const page = await open((await shop.ask({ debitAmount: usd('1000'), receiver })).redirect)
    expect(await title(page)).toBe('Pay 10.00 USD to bob')
    expect(await text(page)).toMatch(/To\s+localhost:\d+\/bob\s+bob/)
    expect(await page.locator('.warning').allTextContents()).toEqual([
      'Another customer of your provider asks for this, not your provider itself.'
    ])
    await page.setViewportSize({ width: 390, height: 844 })
    const button = await page.locator('button[value=allow]').boundingBox()
    expect((button?.y ?? Infinity) + (button?.height ?? 0)).toBeLessThanOrEqual(844)
  })

  // The last one: the client signs by the clock of this machine, which is not put forward.
  it('with a way back to the client from a request that has expired', async () => {
    const late = await open((await shop.ask()).redirect)
    const url = late.url()
    system.clock.advanceSeconds(601)
    await late.goto(url)
    expect(await title(late)).toBe('This request has expired')
    expect(await findViolations(late)).toEqual([])
    await leave(late, () => late.locator('main a.primary').click())
    expect(new URL(late.url()).searchParams.get('result')).toBe('grant_invalid')
  })
})
