import { allSettled } from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'
import { type Allowed, MONTHLY, openShop, setHolder, type Shop, usd } from './support/shop.js'

withBrowser('payments you allow', () => {
  let setting: Setting
  let browser: TestBrowser
  let shop: Shop
  /** Signed in as alice. */
  let alice: BrowserContext

  beforeAll(async () => {
    setting = await startSetting()
    await setHolder(setting, 'alice')
    await setHolder(setting, 'bob')
    browser = await startBrowser()
    alice = browser.context
    shop = await openShop(setting, alice)
    const page = await alice.newPage()
    await page.goto(setting.pages)
    await signIn(page, 'alice')
    await page.close()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  /** A browser of somebody who is signed in. */
  const contextOf = async (
    name: string,
    options: Parameters<TestBrowser['newContext']>[0] = {}
  ): Promise<BrowserContext> => {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    await page.goto(setting.pages)
    await signIn(page, name)
    await page.close()
    return context
  }
  const open = async (path: string, context = alice): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(`${setting.pages}${path}`)
    return page
  }
  const title = async (page: Page): Promise<string> =>
    ((await page.textContent('h1')) ?? '').replaceAll('\u00a0', ' ')
  const text = async (page: Page, selector = 'main'): Promise<string> =>
    (await page.locator(selector).first().innerText()).replaceAll('\u00a0', ' ')
  const press = async (page: Page, name: string): Promise<void> => {
    await page.locator('main').getByRole('button', { name, exact: true }).click()
    await page.waitForLoadState()
  }
  const follow = async (page: Page, name: string): Promise<void> => {
    await page.locator('main').getByRole('link', { name, exact: true }).click()
    await page.waitForLoadState()
  }
  const cookiesOf = async (context: BrowserContext, url = setting.pages): Promise<string> =>
    (await context.cookies(url)).map(({ name, value }) => `${name}=${value}`).join('; ')
  const get = async (path: string, context = alice): Promise<Response> =>
    fetch(`${setting.pages}${path}`, {
      headers: { cookie: await cookiesOf(context), accept: 'text/html' },
      redirect: 'manual'
    })
  const post = async (
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {}
  ): Promise<Response> =>
    fetch(`${setting.pages}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { cookie: await cookiesOf(alice), accept: 'text/html', ...headers },
      redirect: 'manual'
    })
  /** What the form of an act has, as its page shows it now. */
  const formOf = async (
    { path }: Allowed,
    act: 'pause' | 'resume' | 'lower' | 'stop'
  ): Promise<Record<string, string>> => {
    const page = await open(act === 'pause' || act === 'resume' ? path : `${path}/${act}`)
    const inputs = await page.locator(`form[action="${path}/${act}"] input`).all()
    const pairs = await Promise.all(
      inputs.map(async (input) => [await input.getAttribute('name'), await input.inputValue()] as const)
    )
    await page.close()
    return Object.fromEntries(pairs) as Record<string, string>
  }

  it('are agreed to for less, paid within that, and refused above it', async () => {
    const { redirect, collect } = await shop.ask()
    const page = await alice.newPage()
    await page.goto(redirect)
    await page.click('summary')
    await page.fill('input[name=amount-0]', '20.00')
    await press(page, 'Show what that means')
    await press(page, 'Allow 20.00 USD a month')
    const allowed = await collect(new URL(page.url()).searchParams.get('interact_ref') ?? '')
    expect(await allowed.pay(1_500)).toBe(201)
    expect(await allowed.pay(501)).toBe(403)
    await allSettled(setting.system)
    await page.goto(setting.pages)
    expect(await title(page)).toBe('Payments you allow')
    expect(await text(page, 'li.in-force')).toMatch(
      /In force[^]*Up to 20\.00 USD a month[^]*15\.00 USD of 20\.00 USD spent[^]*Counts anew from 1 /
    )
    await page.locator('li.in-force h3 a').first().click()
    await page.waitForLoadState()
    expect(new URL(page.url()).pathname).toBe(allowed.path)
    expect(await text(page, 'ul.payments')).toMatch(/bob\s+15\.00 USD[^]*Paid/)
    expect(await allowed.pay(500)).toBe(201)
  })

  it('are paused, resumed, lowered and stopped without JavaScript, and each is in force when the page says so', async () => {
    const context = await contextOf('alice', { javaScriptEnabled: false })
    const allowed = await shop.allow()
    const page = await open(allowed.path, context)
    expect(await allowed.pay(100)).toBe(201)

    await press(page, 'Pause')
    expect(await title(page)).toBe('You paused this')
    expect(await allowed.pay(100)).toBe(403)
    await follow(page, 'See how it is now')
    expect(await text(page)).toContain('Nothing is paid until you resume it.')

    await press(page, 'Resume')
    expect(await title(page)).toBe('You resumed this')
    expect(await allowed.pay(100)).toBe(201)
    await follow(page, 'See how it is now')

    await follow(page, 'Lower')
    await page.fill('input[name=debit-0]', '5.00')
    await press(page, 'Lower')
    expect(await title(page)).toBe('You lowered this')
    expect(await text(page)).toMatch(/Before\s+at most 25\.00 USD a month[^]*Now\s+at most 5\.00 USD a month/)
    expect(await allowed.pay(301)).toBe(403)
    expect(await allowed.pay(300)).toBe(201)
    await follow(page, 'See how it is now')

    await follow(page, 'Stop')
    expect(await title(page)).toMatch(/^Stop payments by .+\?$/)
    expect(await text(page)).toContain('It does not end a contract')
    await press(page, 'Stop it for good')
    expect(await title(page)).toBe('You stopped this')
    expect(await allowed.pay(1)).toBe(403)
    await follow(page, 'See how it is now')
    const history = await text(page, 'ol.history')
    expect(history).toMatch(/Stopped[^]*Lowered[^]*Resumed[^]*Paused/)
    expect(history).toContain('You, signed in as alice <b>Example</b>')
    expect(await page.locator('main button').count()).toBe(0)
    await page.goto(`${setting.pages}/ended`)
    expect(await page.locator(`a[href="${allowed.path}"]`).count()).toBe(1)
    await context.close()
  })

  it('are stopped before the answer is there, and repeating the form has no further effect', async () => {
    const allowed = await shop.allow()
    const fields = await formOf(allowed, 'stop')
    const pause = await formOf(allowed, 'pause')
    const [answer, paid] = await Promise.all([
      post(`${allowed.path}/stop`, fields).then(async ({ status, headers }) => ({
        status,
        location: headers.get('location'),
        afterwards: await allowed.pay(100)
      })),
      Promise.all([allowed.pay(100), allowed.pay(100)])
    ])
    expect(answer).toEqual({
      status: 303,
      location: expect.stringMatching(`^${setting.pages}${allowed.path}/acts/`),
      afterwards: 403
    })
    for (const status of paid) expect([201, 403]).toContain(status)
    const again = await post(`${allowed.path}/stop`, fields)
    expect([again.status, again.headers.get('location')]).toEqual([303, answer.location])
    const late = await post(`${allowed.path}/pause`, pause)
    expect(late.status).toBe(409)
    expect(await late.text()).toContain('It has ended meanwhile.')
    expect(await setting.system.audit()).toEqual([])
  })

  it('are ended earlier, in German, and take no later end and no higher amount', async () => {
    const context = await contextOf('alice', { locale: 'de-DE' })
    const allowed = await shop.allow()
    const page = await open(`${allowed.path}/lower`, context)
    expect(await title(page)).toMatch(/weniger erlauben$/)
    for (const [name, value, problem] of [
      ['debit-0', '25,01', 'Das ist mehr, als jetzt erlaubt ist.'],
      ['debit-0', '20.00', 'Schreiben Sie einen Betrag über null'],
      ['debit-0', '99999999999999999999,00', 'Schreiben Sie einen Betrag über null'],
      ['debit-0', '0', 'Schreiben Sie einen Betrag über null'],
      ['end', '2020-01-01', 'Wählen Sie einen Tag ab heute.'],
      ['end', '2199-01-01', 'Das ist später, als es jetzt endet.']
    ] as const) {
      await page.fill(`input[name=${name}]`, value)
      await press(page, 'Senken')
      expect(await text(page, '.problem')).toContain(problem)
      expect(await page.getAttribute(`input[name=${name}]`, 'aria-invalid')).toBe('true')
      await page.goto(`${setting.pages}${allowed.path}/lower`)
    }
    await press(page, 'Senken')
    expect(await text(page, '[role=alert]')).toContain('Das ist schon jetzt so erlaubt.')
    const tomorrow = new Date(setting.system.clock.now() + 86_400_000)
    await page.fill('input[name=end]', tomorrow.toISOString().slice(0, 10))
    await press(page, 'Senken')
    expect(await title(page)).toBe('Sie haben das gesenkt')
    expect(await text(page)).toMatch(/Kein früheres Ende[^]*Endet nach dem \d/)
    expect(await allowed.pay(100)).toBe(201)
    await context.close()
  })

  it('say what is true now when they were changed meanwhile', async () => {
    const allowed = await shop.allow()
    const lower = await formOf(allowed, 'lower')
    const pause = await formOf(allowed, 'pause')
    expect((await post(`${allowed.path}/pause`, pause)).status).toBe(303)
    const late = await post(`${allowed.path}/lower`, { ...lower, 'debit-0': '1.00' })
    expect(late.status).toBe(409)
    expect(await late.text()).toContain('It has changed since you opened this page.')
    const resume = await formOf(allowed, 'resume')
    // In another tab it is lowered before it is resumed here.
    const again = { ...(await formOf(allowed, 'lower')), 'debit-0': '3.00' }
    expect((await post(`${allowed.path}/lower`, again)).status).toBe(303)
    const stale = await post(`${allowed.path}/resume`, resume)
    expect(stale.status).toBe(409)
    expect(await stale.text()).toContain('It has changed since you opened that page. Nothing was done.')
    expect(await allowed.pay(100)).toBe(403)
    // Whoever pauses is never refused.
    expect((await post(`${allowed.path}/pause`, pause)).status).toBe(303)
  })

  it('lose nothing of two that lower and pay at the same time', async () => {
    const allowed = await shop.allow()
    const fields = { ...(await formOf(allowed, 'lower')), 'debit-0': '10.00' }
    const [lowered, ...paid] = await Promise.all([
      post(`${allowed.path}/lower`, fields).then(({ status }) => status),
      ...Array.from({ length: 4 }, () => allowed.pay(500))
    ])
    expect(lowered).toBe(303)
    for (const status of paid) expect([201, 403]).toContain(status)
    expect(await allowed.pay(1_001)).toBe(403)
    expect(await setting.system.audit()).toEqual([])
  })

  it('are nobody else’s, whatever is asked for', async () => {
    const allowed = await shop.allow()
    const bob = await contextOf('bob')
    const cookie = await cookiesOf(bob)
    const paths = ['', '/lower', '/stop', '/receipt', '/payments.csv', `/acts/${allowed.id}`]
    for (const path of paths) {
      const answer = await get(`${allowed.path}${path}`, bob)
      expect([path, answer.status]).toEqual([path, 404])
      expect(await answer.text()).not.toContain('25.00')
    }
    // With a form of his own for it, which only a page of his session could have: he is told that there is none.
    const fields = await formOf(allowed, 'stop')
    expect((await post(`${allowed.path}/stop`, fields, { cookie })).status).toBe(403)
    expect((await get('/allowed/not-a-grant')).status).toBe(404)
    expect((await get(`/allowed/${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)}`)).status).toBe(404)
    expect(await (await get('/', bob)).text()).toContain('Nobody may pay from your accounts.')
    expect(await (await get('/downloads/allowed.json', bob)).json()).toEqual([])
    expect(await allowed.pay(100)).toBe(201)
    await bob.close()
  })

  it('take no form that was not given to the browser, nor one from another site or for another act', async () => {
    const [allowed, other] = [await shop.allow(), await shop.allow()]
    const fields = await formOf(allowed, 'stop')
    const pause = await formOf(allowed, 'pause')
    const ofOther = await formOf(other, 'stop')
    const operator = await browser.newContext()
    const console = await operator.newPage()
    await console.goto(setting.console)
    await signIn(console, 'operator')
    const consoleCookie = (await cookiesOf(operator, setting.console)).replaceAll('console-', 'holder-')
    const variants: [Record<string, string>, Record<string, string>][] = [
      [{ token: 'x'.repeat(43) }, {}],
      [{ token: '' }, {}],
      [{ token: ofOther.token ?? '' }, {}],
      [{ token: pause.token ?? '' }, {}],
      [fields, { 'sec-fetch-site': 'cross-site' }],
      [fields, { 'sec-fetch-site': 'same-site' }],
      [fields, { origin: 'https://evil.example' }],
      [fields, { cookie: '' }],
      [fields, { cookie: consoleCookie }]
    ]
    for (const [sent, headers] of variants)
      expect((await post(`${allowed.path}/stop`, sent, headers)).status).toBe(403)
    // What changes something is a form.
    expect((await get(`${allowed.path}/pause`)).status).toBe(405)
    expect(await allowed.pay(100)).toBe(201)
    await operator.close()
  })

  it('say that nothing was done when the session has ended meanwhile, and go on after signing in', async () => {
    const context = await contextOf('alice')
    const allowed = await shop.allow()
    const page = await open(`${allowed.path}/stop`, context)
    const other = await open('/', context)
    await other.getByRole('button', { name: 'Sign out' }).click()
    await other.waitForLoadState()
    await press(page, 'Stop it for good')
    expect(await title(page)).toBe('You were signed out meanwhile')
    expect(await text(page)).toContain('Nothing was done.')
    expect(await findViolations(page)).toEqual([])
    expect(await allowed.pay(100)).toBe(201)
    await context.close()
  })

  it('can be stopped by keyboard alone', async () => {
    const allowed = await shop.allow()
    const page = await open('/')
    const reach = async (selector: string): Promise<void> => {
      for (let count = 0; count < 60; count += 1) {
        await page.keyboard.press('Tab')
        const focused = page.locator(':focus')
        if ((await focused.count()) > 0 && (await focused.evaluate((node, of) => node.matches(of), selector)))
          return
      }
      throw new Error(`the keyboard does not reach ${selector}`)
    }
    await reach(`a[href="${allowed.path}"]`)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${allowed.path}`)
    await reach(`a[href="${allowed.path}/stop"]`)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/stop')
    await reach('button.danger')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/acts/*')
    expect(await title(page)).toBe('You stopped this')
    expect(await allowed.pay(1)).toBe(403)
  })

  it.each([
    ['on a phone of 320 pixels', 320, 'none'],
    ['in forced colours', 1280, 'active']
  ] as const)('have pages without violations %s', async (_how, width, forcedColors) => {
    const allowed = await shop.allow({ ...MONTHLY, debitAmount: usd('18446744073709551615') })
    expect(await allowed.pay(100)).toBe(201)
    await post(`${allowed.path}/pause`, await formOf(allowed, 'pause'))
    const page = await open(allowed.path)
    await page.setViewportSize({ width, height: 700 })
    await page.emulateMedia({ forcedColors })
    const receipt = (await page.locator('ol.history a').first().getAttribute('href')) ?? ''
    const below = ['', '/lower', '/stop', '/receipt'].map((end) => `${allowed.path}${end}`)
    for (const path of ['/', '/ended', ...below, receipt]) {
      await page.goto(`${setting.pages}${path}`)
      expect([path, await findViolations(page)]).toEqual([path, []])
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      )
      expect([path, overflow]).toEqual([path, 0])
    }
  })

  it('are downloaded as CSV and JSON, to the unit, and as no formula', async () => {
    const allowed = await shop.allow({ debitAmount: usd('90071992547409935') })
    expect(await allowed.pay(123)).toBe(201)
    await allSettled(setting.system)
    const csv = await get('/downloads/allowed.csv')
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="payments-you-allow.csv"')
    const lines = (await csv.text()).replace(/^\ufeff/, '').split('\r\n')
    expect(lines[0]).toMatch(/^grant,state,client,clientName,walletAddress,/)
    const line = lines.find((each) => each.startsWith(allowed.id)) ?? ''
    expect(line).toContain(',900719925474099.35,900719925474099.35,1.23,USD,')
    const json = (await (await get('/downloads/allowed.json')).json()) as { grant: string; access: unknown }[]
    expect(json.find(({ grant }) => grant === allowed.id)?.access).toMatchObject([
      { limits: { debitAmount: usd('90071992547409935') }, spentDebitAmount: usd('123') }
    ])
    const payments = await (await get(`${allowed.path}/payments.csv`)).text()
    expect(payments.split('\r\n')[1]).toMatch(/,completed,,1\.23,1\.23,USD,/)
    const all = (await (await get('/downloads/payments.json')).json()) as { grant: string }[]
    expect(all.filter(({ grant }) => grant === allowed.id)).toHaveLength(1)
    const anonymous = await fetch(`${setting.pages}/downloads/payments.json`, { redirect: 'manual' })
    expect(anonymous.status).toBe(303)
  })

  it('page by cursor, and know no page that there is not', async () => {
    expect((await get('/?after=0.nonsense')).status).toBe(404)
    expect((await get('/?after=nonsense')).status).toBe(404)
    expect((await get('/ended?after=7.')).status).toBe(404)
  })
})
