import { setTimeout as delay } from 'node:timers/promises'
import { allSettled, eventually } from '@open-payments-server/acceptance'
import { callUnary, isRpcError, status as grpcStatus } from '@open-payments-server/grpc-transport'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { type Hands, KEYBOARD, MOUSE, MOUSE_WITHOUT_SCRIPTS } from './support/hands.js'
import { leave, PASSWORD, signIn } from './support/people.js'
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
    await leave(page, () => page.locator('main').getByRole('button', { name, exact: true }).click())
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
    const fields = await fieldsOf(page, `${path}/${act}`)
    await page.close()
    return fields
  }
  /** What a form of a page has, by where it goes. */
  const fieldsOf = async (page: Page, action: string): Promise<Record<string, string>> => {
    const inputs = await page.locator(`form[action="${action}"] input`).all()
    const pairs = await Promise.all(
      inputs.map(async (input) => [await input.getAttribute('name'), await input.inputValue()] as const)
    )
    return Object.fromEntries(pairs) as Record<string, string>
  }

  it.each<[string, Hands]>([
    ['with a mouse', MOUSE],
    ['without JavaScript', MOUSE_WITHOUT_SCRIPTS],
    ['by keyboard alone', KEYBOARD]
  ])(
    'are agreed to for less, paused, resumed, lowered and stopped %s, and each is in force when the page says so',
    async (_how, { browser: options, press: use, write }) => {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      const main = page.getByRole('main')
      const presses = (name: string): Promise<void> =>
        leave(page, () => use(main.getByRole('button', { name, exact: true })))
      const follows = (name: string): Promise<void> =>
        leave(page, () => use(main.getByRole('link', { name, exact: true })))

      const { redirect, collect } = await shop.ask()
      await page.goto(redirect)
      await write(page.locator('input[name=username]'), 'alice')
      await write(page.locator('input[name=password]'), PASSWORD)
      await use(page.locator('button[type=submit]'))
      await page.waitForURL(`${setting.pages}/consent?*`)
      await use(page.locator('summary'))
      await write(page.locator('input[name=amount-0]'), '20.00')
      await presses('Show what that means')
      await use(main.getByRole('button', { name: 'Allow 20.00 USD a month', exact: true }))
      await page.waitForURL(`${setting.callback}/?*`)
      const allowed = await collect(new URL(page.url()).searchParams.get('interact_ref') ?? '')
      expect(await allowed.pay(1_500)).toBe(201)
      expect(await allowed.pay(501)).toBe(403)
      await allSettled(setting.system)

      await page.goto(setting.pages)
      const card = main.locator('li.in-force', { has: page.locator(`a[href="${allowed.path}"]`) })
      expect((await card.innerText()).replaceAll('\u00a0', ' ')).toMatch(
        /In force[^]*Up to 20\.00 USD a month[^]*15\.00 USD of 20\.00 USD spent[^]*Counts anew from 1 /
      )
      await leave(page, () => use(card.locator('h3 a')))
      expect(new URL(page.url()).pathname).toBe(allowed.path)
      expect(await text(page, 'ul.payments')).toMatch(/bob\s+15\.00 USD[^]*Paid/)

      await presses('Pause')
      expect(await title(page)).toBe('You paused this')
      expect(await allowed.pay(100)).toBe(403)
      await follows('See how it is now')
      expect(await text(page)).toContain('No payment can be made until you resume it.')

      await presses('Resume')
      expect(await title(page)).toBe('You resumed this')
      expect(await allowed.pay(100)).toBe(201)
      await follows('See how it is now')

      await follows('Lower')
      await write(page.locator('input[name=debit-0]'), '18.00')
      await presses('Lower')
      expect(await title(page)).toBe('You lowered this')
      expect(await text(page)).toMatch(
        /Before\s+at most 20\.00 USD a month[^]*Now\s+at most 18\.00 USD a month/
      )
      expect(await allowed.pay(201)).toBe(403)
      expect(await allowed.pay(200)).toBe(201)
      await follows('See how it is now')

      await follows('Stop')
      expect(await title(page)).toMatch(/^Stop payments by .+\?$/)
      expect(await text(page)).toContain('It does not end a contract')
      await presses('Stop it for good')
      expect(await title(page)).toBe('You stopped this')
      expect(await allowed.pay(1)).toBe(403)
      await follows('See how it is now')
      const history = await text(page, 'ol.history')
      expect(history).toMatch(/Stopped[^]*Lowered[^]*Resumed[^]*Paused/)
      expect(history).toContain('You, signed in as alice <b>Example</b>')
      expect(await page.locator('main button').count()).toBe(0)
      await page.goto(`${setting.pages}/ended`)
      expect(await page.locator(`a[href="${allowed.path}"]`).count()).toBe(1)
      await context.close()
    }
  )

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
    expect(await late.text()).toContain('It has ended meanwhile: no payment can be made under it any more.')
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
      ['end', '2020-01-01', 'Wählen Sie einen Tag ab heute.']
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
    await page.goto(`${setting.pages}${allowed.path}/lower`)
    await page.fill('input[name=end]', '2199-01-01')
    await press(page, 'Senken')
    expect(await text(page, '.problem')).toContain('Das ist später, als es jetzt endet.')
    expect(await allowed.pay(100)).toBe(201)
    await context.close()
  })

  it('say what is left once nothing is paid any more, and are stopped also after their end', async () => {
    const seconds = (count: number): string =>
      new Date(setting.system.clock.now() + count * 1_000).toISOString()
    const interval = `R1/${seconds(-60)}/${seconds(4)}`
    const allowed = await shop.allow({ debitAmount: usd('500'), interval })
    await eventually('nothing is paid any more', async () => (await allowed.pay(1)) === 403)
    const page = await open('/')
    const entry = `li:has(a[href="${allowed.path}"])`
    expect(await text(page, entry)).toMatch(
      /No more payments[^]*Up to 5\.00 USD[^]*Nothing is paid after[^]*It may still see the payments that it made/
    )
    await page.goto(`${setting.pages}${allowed.path}`)
    expect(await text(page)).toMatch(/It may also\s+see the payments that it made\s+until you stop it/)
    expect(await findViolations(page)).toEqual([])

    const { authDatabase } = setting.system
    await authDatabase.query('update grant_request set ends_at = now() where id = $1', [allowed.id])
    await page.goto(`${setting.pages}${allowed.path}`)
    expect(await text(page)).toContain('It has ended by itself. You can stop it all the same, to be sure.')
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0)
    expect(await findViolations(page)).toEqual([])
    await leave(page, () => page.getByRole('main').getByRole('link', { name: 'Stop', exact: true }).click())
    await press(page, 'Stop it for good')
    expect(await title(page)).toBe('You stopped this')
    await page.goto(`${setting.pages}${allowed.path}`)
    expect(await page.getByRole('main').getByRole('link', { name: 'Stop', exact: true }).count()).toBe(0)
    expect((await get(`${allowed.path}/stop`)).status).toBe(409)
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
    expect(await stale.text()).toContain(
      'It has changed since you opened that page. This is what is true now'
    )
    expect(await allowed.pay(100)).toBe(403)
    // Whoever pauses is never refused.
    expect((await post(`${allowed.path}/pause`, pause)).status).toBe(303)
  })

  /**
   * Has an act wait until nobody waits for its answer any more, and then be done.
   *
   * @param act begins it: `answered` once the pages gave up, `done` once that is shown
   */
  const loseAnswer = async <Result>(
    allowed: Allowed,
    act: () => { readonly answered: Promise<unknown>; readonly done: Promise<Result> }
  ): Promise<Result> => {
    const { authDatabase } = setting.system
    const actCount = async (): Promise<number> => {
      const sql = 'select 1 from grant_act where grant_id = $1'
      return (await authDatabase.query(sql, [allowed.id])).length
    }
    const before = await actCount()
    // No longer than needed: the service gives up what waits for long.
    const { done } = await authDatabase.inTransaction(async (query) => {
      await query('select 1 from grant_request where id = $1 for update', [allowed.id])
      const { answered, done } = act()
      await answered
      return { done }
    })
    while ((await actCount()) === before) await delay(20)
    return done
  }

  it('say what is in force when a form is repeated whose answer was lost', async () => {
    const allowed = await shop.allow()
    const lowering = { ...(await formOf(allowed, 'lower')), 'debit-0': '10.00' }
    const answer = await loseAnswer(allowed, () => {
      const done = post(`${allowed.path}/lower`, lowering)
      return { answered: done, done }
    })
    expect(answer.status).toBe(503)
    const [, form = ''] = (await answer.text()).split(`action="${allowed.path}/lower"`)
    const [inputs = ''] = form.split('</form>')
    const found = inputs.matchAll(/<input type="hidden" name="([^"]*)" value(?:="([^"]*)")?/g)
    const again = Object.fromEntries([...found].map(([, name = '', value = '']) => [name, value]))
    const lowered = await post(`${allowed.path}/lower`, again)
    expect([lowered.status, lowered.headers.get('location')]).toEqual([
      303,
      expect.stringContaining(`${allowed.path}/acts/`)
    ])
    expect(await allowed.pay(1_001)).toBe(403)
    expect((await post(`${allowed.path}/lower`, { ...again, repeats: '' })).status).toBe(303)
    // Without that word it is a page that was opened before.
    expect((await post(`${allowed.path}/lower`, lowering)).status).toBe(409)

    await post(`${allowed.path}/pause`, await formOf(allowed, 'pause'))
    const page = await open(allowed.path)
    await loseAnswer(allowed, () => ({
      // The way there leads over the issuer.
      answered: page.waitForResponse((response) => response.status() === 503),
      done: press(page, 'Resume')
    }))
    expect(await text(page)).toContain('We could not make sure that this is in force everywhere.')
    const resumed = await fieldsOf(page, `${allowed.path}/resume`)
    await press(page, 'Try again')
    expect(await title(page)).toBe('You resumed this')
    expect(await allowed.pay(100)).toBe(201)
    // Paused meanwhile, it is not resumed by what was meant for another pause.
    await post(`${allowed.path}/pause`, await formOf(allowed, 'pause'))
    expect((await post(`${allowed.path}/resume`, resumed)).status).toBe(409)
    const forged = await post(`${allowed.path}/resume`, { ...resumed, token: 'x' })
    expect([forged.status, await forged.text()]).toEqual([
      403,
      expect.stringContaining('It is not known whether what you chose was done.')
    ])
    expect(await allowed.pay(100)).toBe(403)
  })

  it('are resumed by nobody who is not signed in, whatever a page that was taken over says', async () => {
    const allowed = await shop.allow()
    await post(`${allowed.path}/pause`, await formOf(allowed, 'pause'))
    const { holderGrants, walletAddresses } = setting.system
    const acting = {
      holder: { issuer: 'https://login.evil', sub: 'mallory' },
      walletAddresses: [walletAddresses.alice]
    }
    const of = { acting, grantId: allowed.id }
    const { acts, resumption } = await callUnary(holderGrants, 'getAllowedGrant', of, { idempotent: true })
    expect(acts.map(({ holder }) => holder)).toEqual([undefined])
    expect(JSON.parse(resumption?.document ?? '')).toMatchObject({ act: 'resumed', after: acts[0]?.actId })
    for (const holder of [acting.holder, { issuer: setting.issuer, sub: 'alice' }]) {
      const forged = { ...of, acting: { ...acting, holder }, idToken: '', ownership: '' }
      const refused = await callUnary(holderGrants, 'resumeGrant', forged, { idempotent: true }).catch(
        (error: unknown) => (isRpcError(error) ? [error.code, error.field] : error)
      )
      expect(refused).toEqual([grpcStatus.INVALID_ARGUMENT, 'id_token'])
    }
    expect(await allowed.pay(100)).toBe(403)
  })

  it('are resumed with a fresh sign-in where they are large, and stay paused without it', async () => {
    const allowed = await shop.allow({ debitAmount: usd('500000') })
    await post(`${allowed.path}/pause`, await formOf(allowed, 'pause'))
    const context = await contextOf('alice')
    const page = await open(allowed.path, context)
    /** Goes to the issuer once the sign-in of before is no longer fresh there. */
    const atIssuer = async ({ path } = allowed): Promise<void> => {
      await delay(6_000)
      await page.goto(`${setting.pages}${path}`)
      await press(page, 'Resume')
      expect(new URL(page.url()).origin).toBe(setting.issuer)
    }

    // Cancelled: as the issuer sends the browser back.
    const asked = page.waitForRequest((request) => request.url().includes('code_challenge='))
    await atIssuer()
    const state = new URL((await asked).url()).searchParams.get('state') ?? ''
    const query = new URLSearchParams({ error: 'access_denied', state, iss: setting.issuer })
    await page.goto(`${setting.pages}/signed-in?${query.toString()}`)
    expect(await title(page)).toBe('You are not signed in')
    const back = page.locator('main').getByRole('link', { name: 'Look again' })
    expect(await back.getAttribute('href')).toBe(allowed.path)
    expect(await findViolations(page)).toEqual([])
    expect(await allowed.pay(100)).toBe(403)

    // Changed meanwhile.
    await atIssuer()
    const lower = { ...(await formOf(allowed, 'lower')), 'debit-0': '4500.00' }
    expect((await post(`${allowed.path}/lower`, lower)).status).toBe(303)
    await signIn(page, 'alice')
    expect(await text(page)).toContain('It has changed since you opened that page.')
    expect(await allowed.pay(100)).toBe(403)
    // What is left of it needs no fresh sign-in.
    await press(page, 'Resume')
    expect(await title(page)).toBe('You resumed this')
    expect(await allowed.pay(100)).toBe(201)

    // As somebody else, whom the issuer signs in instead.
    const other = await shop.allow({ debitAmount: usd('500000') })
    await post(`${other.path}/pause`, await formOf(other, 'pause'))
    await atIssuer(other)
    await signIn(page, 'bob')
    expect(await title(page)).toBe('Somebody else signed in')
    expect(await other.pay(100)).toBe(403)
    await context.close()
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

  it('are paused and stopped by whoever holds the account now, who cannot resume them', async () => {
    const allowed = await shop.allow()
    const bob = await contextOf('bob')
    await setHolder(setting, 'alice', 'bob')
    try {
      const page = await open(allowed.path, bob)
      expect(await text(page)).toContain('Agreed to by somebody else who held this wallet')
      await press(page, 'Pause')
      expect(await title(page)).toBe('You paused this')
      const { pathname: receipt } = new URL(page.url())
      await setHolder(setting, 'alice')
      expect(await title(await open(receipt))).toBe('This was paused')
      await setHolder(setting, 'alice', 'bob')
      expect(await allowed.pay(100)).toBe(403)
      await page.goto(`${setting.pages}${allowed.path}`)
      expect(await page.locator('main').getByRole('button').allTextContents()).toEqual([])
      expect(await findViolations(page)).toEqual([])
      expect((await get(`${allowed.path}/receipt`, bob)).status).toBe(404)
      expect((await get(allowed.path)).status).toBe(404)
      const link = page.locator('main').getByRole('link', { name: 'Stop', exact: true })
      await leave(page, () => link.click())
      await press(page, 'Stop it for good')
      expect(await title(page)).toBe('You stopped this')
    } finally {
      await setHolder(setting, 'alice')
      await bob.close()
    }
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
    await leave(other, () => other.getByRole('button', { name: 'Sign out' }).click())
    await press(page, 'Stop it for good')
    expect(await title(page)).toBe('You were signed out meanwhile')
    expect(await text(page)).toContain('Nothing was done.')
    expect(await findViolations(page)).toEqual([])
    expect(await allowed.pay(100)).toBe(201)
    await context.close()
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
