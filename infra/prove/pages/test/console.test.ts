import {
  allSettled,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay
} from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { BrowserContext, Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import {
  type ConsoleSetting,
  signInAs,
  startBrowser,
  startConsole,
  type TestBrowser,
  withBrowser
} from './support/console-setting.js'
import { createPeerWithin } from './support/lossy-peer.js'
import { leave } from './support/people.js'

withBrowser('the console', () => {
  let setting: ConsoleSetting
  /** Origin of a console that waits for no answer for long. */
  let hasty: string
  let browser: TestBrowser
  let paymentId: string
  let paymentUrl: string
  let receiverId: string
  let grantId: string
  const people = new Map<string, BrowserContext>()

  beforeAll(async () => {
    setting = await startConsole()
    hasty = await setting.startReplica({ RESOURCE_GRPC_DEADLINE_MS: '3000' })
    const { system } = setting
    const { shop } = system
    const receiver = await createReceiver(system, shop)
    receiverId = receiver.url.split('/').at(-1) ?? ''
    const { token, grant } = await consentedToken(system, shop, [
      outgoingAccess(system, { debitAmount: usd('100000'), interval: 'R/2026-01-01T00:00:00Z/P1M' })
    ])
    grantId = grant.continueUri.split('/').at(-1) ?? ''
    for (const value of [1_234n, 2_500n, 40_000n]) await pay(system, shop, token, receiver.url, value)
    const paid = await pay(system, shop, token, receiver.url, 4_321n)
    paymentUrl = paid.textAt('id')
    paymentId = paymentUrl.split('/').at(-1) ?? ''
    await allSettled(system)
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
  /** A browser in which somebody is signed in. */
  const contextOf = async (name: 'victor' | 'olivia' | 'anna' | 'nobody'): Promise<BrowserContext> => {
    const known = people.get(name)
    if (known !== undefined) return known
    const context = await browser.newContext()
    people.set(name, context)
    const page = await context.newPage()
    await page.goto(`${setting.console}/`)
    await signInAs(page, name)
    return context
  }
  const open = async (name: 'victor' | 'olivia' | 'anna' | 'nobody', path: string): Promise<Page> => {
    const page = await (await contextOf(name)).newPage()
    await page.goto(`${setting.console}${path}`)
    return page
  }
  const title = (page: Page): Promise<string | null> => page.textContent('h1')
  const press = async (page: Page, name: string): Promise<void> => {
    await leave(page, () => page.getByRole('button', { name, exact: true }).click())
  }
  const cookieOf = async (page: Page): Promise<string> =>
    (await page.context().cookies(setting.console)).map(({ name, value }) => `${name}=${value}`).join('; ')
  const accountNamed = async (name: string): Promise<wallet.Account | undefined> => {
    const request = wallet.ListAccountsRequest.fromPartial({ name })
    return (await callUnary(setting.system.operator, 'listAccounts', request, { idempotent: true }))
      .accounts[0]
  }
  const rowNames = (page: Page): Promise<string[]> => page.locator('dt').allTextContents()

  it('shows what awaits an operator, and payments by the hour', async () => {
    const page = await open('victor', '/')
    expect(await title(page)).toBe('Overview')
    expect(await page.textContent('main')).toContain('payments that await approval')
    // Counts are written every few seconds.
    await eventually('all payments are counted', async () => {
      await page.reload()
      return /4 created, 4 completed, 0 failed/.test((await page.textContent('main')) ?? '')
    })
    expect(await page.textContent('footer')).toContain('victor <b>Example</b>')
  })

  it('shows the whole life of a payment', async () => {
    const page = await open('victor', `/payments/${paymentId}`)
    const text = (await page.textContent('main'))?.replaceAll('\u00a0', ' ') ?? ''
    for (const part of [
      'completed',
      '43.21 USD',
      grantId,
      setting.system.shop.walletAddress.replace('http://', ''),
      'outgoing_payment.completed',
      'clearing',
      'settled',
      'acknowledged'
    ])
      expect(text).toContain(part)
    await leave(page, () => page.getByRole('link', { name: grantId }).click())
    const grant = (await page.textContent('main'))?.replaceAll('\u00a0', ' ') ?? ''
    expect(grant).toContain('480.55 USD')
    expect(grant).toContain(paymentId)
  })

  it.each([
    ['a payment by id', () => paymentId, () => `/payments/${paymentId}`],
    ['a payment by URL', () => paymentUrl, () => `/payments/${paymentId}`],
    ['an incoming payment', () => receiverId, () => `/payments/${receiverId}`],
    ['a grant', () => grantId, () => `/grants/${grantId}`],
    ['an account', () => 'alice', () => '/accounts/alice'],
    ['a client from elsewhere', () => 'https://shop.example/app', () => '/client?name='],
    ['a client by its key', () => `jwk:${'a'.repeat(43)}`, () => '/client?name='],
    ['a wallet address', () => setting.system.walletAddresses.bob, () => '/wallet-address?url='],
    ['an amount', () => '25.00 USD', () => '/payments?amount='],
    ['a day', () => new Date(setting.system.clock.now()).toISOString().slice(0, 10), () => '/payments?from=']
  ])('finds %s', async (_what, text, path) => {
    const page = await open('victor', '/')
    await page.fill('input[name=q]', text())
    await page.press('input[name=q]', 'Enter')
    await page.waitForURL((url) => url.pathname !== '/' && url.pathname !== '/search')
    expect(page.url()).toContain(`${setting.console}${path()}`)
    expect(page.url()).not.toContain('nothing')
    if (path().startsWith('/client')) expect(await title(page)).toBe(text())
    if (path().startsWith('/payments?amount=')) {
      expect(await page.locator('tbody tr').count()).toBe(1)
      expect((await page.textContent('tbody'))?.replaceAll('\u00a0', ' ')).toContain('25.00 USD')
    }
  })

  it('lists payments by what they are and when they were, page by page', async () => {
    const page = await open('victor', '/payments?state=failed')
    expect(await page.textContent('main')).toContain('No payments.')
    await page.selectOption('select[name=state]', 'completed')
    await page.fill('input[name=client]', setting.system.shop.walletAddress)
    await press(page, 'Show')
    expect(await page.locator('tbody tr').count()).toBe(4)
    await page.goto(`${setting.console}/payments?until=2020-01-01`)
    expect(await page.textContent('main')).toContain('No payments.')
    await page.goto(`${setting.console}/payments?amount=nonsense`)
    expect(await page.textContent('main')).toContain('is no amount')
  })

  it('lists endpoints, and packets of which nothing is known, page by page', async () => {
    const { resourceDatabase, peers } = setting.system
    await resourceDatabase.query(
      `insert into webhook_endpoint (id, url, types, secret, reached_number, disabled_cause, disabled_at, created_at)
       select gen_random_uuid(), 'https://hooks-' || n || '.example/', '{}', '', 0, 'operator', now(), now() + n * interval '1 second'
         from generate_series(1, 51) n`
    )
    await createPeerWithin(
      { peers },
      { name: 'east', ilpAddress: 'test.east', endpoint: 'http://127.0.0.1:9/' }
    )
    await resourceDatabase.query(
      `insert into sent_packet (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, sent_at, expires_at)
       select gen_random_uuid(), $1, n, (select id from peer where name = 'east'), sha256(n::text::bytea), n, 1,
              now() + (n - 9000) * interval '1 second', now() - interval '1 hour'
         from generate_series(1, 51) n`,
      [paymentId]
    )
    for (const [path, first, last] of [
      ['/endpoints', 'https://hooks-1.example/', 'https://hooks-51.example/'],
      ['/peers/east', '0.01\u00a0USD', '0.51\u00a0USD']
    ] as const) {
      const page = await open('victor', path)
      const cells = () => page.locator('tbody td').allTextContents()
      expect(await cells()).toContain(first)
      expect(await cells()).not.toContain(last)
      await page.locator('a[rel=next]').first().click()
      await page.waitForURL((url) => url.search !== '')
      expect(await cells()).toContain(last)
      expect(await cells()).not.toContain(first)
      await page.close()
    }
    await resourceDatabase.query('delete from sent_packet')
    await resourceDatabase.query('delete from webhook_endpoint')
  })

  it('freezes an account once it is confirmed, and says so only then', async () => {
    const page = await open('olivia', '/accounts/carol')
    await leave(page, () => page.getByRole('link', { name: 'Freeze account' }).click())
    expect(await page.textContent('main')).toContain('Nothing new is paid from it or to it.')
    expect((await accountNamed('carol'))?.freeze).toBeUndefined()
    await page.fill('input[name=reason]', 'stolen <phone>')
    await press(page, 'Freeze account')
    expect(await page.textContent('.note')).toBe('Done.')
    expect(await rowNames(page)).toContain('Frozen since')
    const { freeze } = (await accountNamed('carol')) ?? {}
    expect(freeze).toMatchObject({
      reason: 'stolen <phone>',
      frozenBy: expect.stringMatching(/^olivia at http/)
    })
    await leave(page, () => page.getByRole('link', { name: 'Back' }).click())
    await leave(page, () => page.getByRole('link', { name: 'Unfreeze account' }).click())
    await press(page, 'Unfreeze account')
    expect((await accountNamed('carol'))?.freeze).toBeUndefined()
  })

  it('moves money once, however often the form is sent', async () => {
    const before = (await accountNamed('bob'))?.balanceValue ?? ''
    const page = await open('olivia', '/act/deposit?subject=bob')
    await page.fill('input[name=amount]', '12.50')
    const fields = await formOf(page)
    const cookie = await cookieOf(page)
    for (let times = 0; times < 2; times += 1) {
      const answer = await post('/act/deposit', { ...fields, amount: '12.50', shown: '1250' }, { cookie })
      expect(answer.status).toBe(200)
    }
    const after = (await accountNamed('bob'))?.balanceValue ?? ''
    expect(BigInt(after) - BigInt(before)).toBe(1_250n)
    const wrong = await post('/act/deposit', { ...fields, amount: '12.505', shown: '1250' }, { cookie })
    expect(wrong.status).toBe(400)
  })

  it('moves no amount that may mean another, nor one that it has not shown as it was read', async () => {
    const before = await setting.system.balance('bob')
    const page = await open('olivia', '/act/deposit?subject=bob')
    const fields = await formOf(page)
    const cookie = await cookieOf(page)
    const inGerman = { ...fields, language: 'de' }
    for (const ambiguous of [
      { ...fields, amount: '12,50', shown: '125000' },
      { ...fields, amount: '1,250.00', shown: '125000' },
      { ...inGerman, amount: '12.50', shown: '125000' },
      { ...inGerman, amount: '1250.00', shown: '12500000' }
    ])
      expect([ambiguous, (await post('/act/deposit', ambiguous, { cookie })).status]).toEqual([
        ambiguous,
        400
      ])
    await page.fill('input[name=amount]', '1250')
    // The form stays in the language in which it was filled.
    await (await open('olivia', '/language?set=de&to=%2F')).close()
    await press(page, 'Deposit')
    await (await open('olivia', '/language?set=en&to=%2F')).close()
    expect(await page.textContent('.note')).toBe('Nothing was done yet. Is this what you mean?')
    expect(await page.locator('dd').allTextContents()).toContain('1,250.00\u00a0USD')
    expect(await findViolations(page)).toEqual([])
    expect(await setting.system.balance('bob')).toBe(before)
    const changed = await post('/act/deposit', { ...(await formOf(page)), amount: '12500' }, { cookie })
    expect([changed.status, await changed.text()]).toEqual([200, expect.stringContaining('12,500.00')])
    expect(await setting.system.balance('bob')).toBe(before)
    await press(page, 'Deposit: 1,250.00\u00a0USD')
    expect(await page.textContent('.note')).toBe('Done.')
    expect(await setting.system.balance('bob')).toBe(before + 125_000n)
  })

  it('says that it does not know what became of an act without an answer, and repeats it without doing it twice', async () => {
    const { system } = setting
    const before = await system.balance('bob')
    const page = await open('olivia', '/act/deposit?subject=bob')
    await page.fill('input[name=amount]', '12.50')
    await press(page, 'Deposit')
    const cookie = await cookieOf(page)
    let answered: () => void = () => undefined
    const whenAnswered = new Promise<void>((resolve) => {
      answered = resolve
    })
    await page.route('**/act/deposit', async (route) => {
      const fields = Object.fromEntries(new URLSearchParams(route.request().postData() ?? ''))
      const answer = await post('/act/deposit', fields, { cookie }, hasty)
      answered()
      const { status } = answer
      await route.fulfill({ status, contentType: 'text/html', body: await answer.text() })
    })
    // No longer than needed: the service gives up what waits for long.
    const { pressing } = await system.resourceDatabase.inTransaction(async (query) => {
      await query("select from account where name = 'bob' for update")
      const pressing = press(page, 'Deposit: 12.50\u00a0USD')
      await whenAnswered
      return { pressing }
    })
    await pressing
    expect(await title(page)).toBe('It is not known whether this was done')
    expect(await page.textContent('main')).not.toContain('Nothing was')
    await page.unroute('**/act/deposit')
    await eventually('it was done all the same', async () => (await system.balance('bob')) > before)
    const repeated = await formOf(page)
    await press(page, 'Repeat it')
    expect(await page.textContent('.note')).toBe('Done.')
    expect((await system.balance('bob')) - before).toBe(1_250n)
    // What is not repeated may have been done, too.
    const answer = await post('/act/deposit', { ...repeated, token: '' }, { cookie })
    expect([answer.status, await answer.text()]).toEqual([
      403,
      expect.stringContaining('It was not repeated')
    ])
  })

  it('ends a grant', async () => {
    const { token, grant } = await consentedToken(setting.system, setting.system.shop, [
      outgoingAccess(setting.system, { debitAmount: usd('700') })
    ])
    const id = grant.continueUri.split('/').at(-1) ?? ''
    const page = await open('olivia', `/grants/${id}`)
    await leave(page, () => page.getByRole('link', { name: 'End grant' }).click())
    await press(page, 'End grant')
    expect(await page.textContent('dl')).toContain('ended')
    const receiver = await createReceiver(setting.system, setting.system.shop)
    expect((await pay(setting.system, setting.system.shop, token, receiver.url, 100n)).status).toBe(403)
  })

  it('runs an audit, and lists what audits found', async () => {
    const page = await open('victor', '/audits')
    await leave(page, () => page.getByRole('link', { name: 'Run an audit' }).click())
    await press(page, 'Run an audit')
    expect(await page.textContent('dl')).toContain('passed')
    // Its event is published a moment later.
    await eventually('the audit is listed', async () => {
      await page.goto(`${setting.console}/audits`)
      return (await page.locator('tbody tr', { hasText: 'passed' }).count()) > 0
    })
  })

  it('lets an approver, and nobody else, decide about a payment', async () => {
    const { system } = setting
    const rule = wallet.CreateApprovalRuleRequest.fromPartial({ aboveValue: '50000' })
    const made = await callUnary(system.operator, 'createApprovalRule', rule, { idempotent: false })
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [
      outgoingAccess(system, { debitAmount: usd('90000') })
    ])
    const url = (await pay(system, system.shop, token, receiver.url, 60_000n)).textAt('id')
    await callUnary(
      system.operator,
      'deleteApprovalRule',
      { ruleId: made.rule?.id ?? '' },
      { idempotent: true }
    )
    const id = url.split('/').at(-1) ?? ''
    const asOperator = await open('olivia', `/payments/${id}`)
    expect(await asOperator.getByRole('link', { name: 'Approve payment' }).count()).toBe(0)
    const page = await open('anna', '/approvals')
    await leave(page, () => page.getByRole('link', { name: id }).click())
    expect(await page.getByRole('link', { name: 'Refund payment' }).count()).toBe(0)
    await leave(page, () => page.getByRole('link', { name: 'Approve payment' }).click())
    await press(page, 'Approve payment')
    expect(await page.textContent('.note')).toBe('Done.')
    await allSettled(system)
    await page.goto(`${setting.console}/payments/${id}`)
    expect(await page.textContent('dd')).toContain('completed')
    expect(await page.textContent('main')).toContain('anna at http')
  })

  const formOf = async (page: Page): Promise<Record<string, string>> => {
    const inputs = await page.locator('form.confirm input').all()
    const pairs = inputs.map(
      async (input) => [await input.getAttribute('name'), await input.inputValue()] as const
    )
    return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>
  }
  const post = (
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string>,
    origin = setting.console
  ) =>
    fetch(`${origin}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers,
      redirect: 'manual'
    })

  it('shows a viewer nothing to press, and the services refuse what a viewer sends anyway', async () => {
    const account = await open('victor', '/accounts/alice')
    expect(await account.locator('a[href^="/act/"]').count()).toBe(0)
    const page = await open('victor', '/act/freeze-account?subject=alice')
    expect(await title(page)).toBe('You may not do this')
    // An audit may be run by whoever reads, so there is a form with a token that counts.
    await page.goto(`${setting.console}/act/run-audit?subject=all`)
    const { token = '' } = await formOf(page)
    const answer = await post(
      '/act/freeze-account',
      { token, subject: 'alice' },
      { cookie: await cookieOf(page) }
    )
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain('needs the role operator')
    expect((await accountNamed('alice'))?.freeze).toBeUndefined()
  })

  it('shows nothing to somebody without a role', async () => {
    const page = await open('nobody', '/accounts')
    expect(await title(page)).toBe('You have no role')
    expect(await page.content()).not.toContain('alice')
  })

  it('does nothing for a form that was not given to the browser, nor for one from another site', async () => {
    const page = await open('olivia', '/act/freeze-account?subject=alice')
    const fields = await formOf(page)
    const cookie = await cookieOf(page)
    const other = await formOf(await open('victor', '/act/run-audit?subject=all'))
    const variants: [Record<string, string>, Record<string, string>][] = [
      [{ token: '' }, { cookie }],
      [{ token: other.token ?? '' }, { cookie }],
      [{}, { cookie, 'sec-fetch-site': 'cross-site' }],
      [{}, { cookie, origin: 'https://evil.example' }],
      [{}, { cookie: '' }],
      [{}, { cookie: cookie.replaceAll('console-token', 'console-other') }]
    ]
    for (const [changed, headers] of variants) {
      const answer = await post('/act/freeze-account', { ...fields, ...changed }, headers)
      expect(answer.status).toBe(403)
    }
    expect((await accountNamed('alice'))?.freeze).toBeUndefined()
  })

  it('takes no session of the pages of account holders, nor the token of another session', async () => {
    const [olivia, victor] = [await open('olivia', '/'), await open('victor', '/')]
    const ask = (cookie: string) =>
      fetch(`${setting.console}/accounts`, { headers: { cookie }, redirect: 'manual' })
    const cookie = await cookieOf(victor)
    expect((await ask(cookie)).status).toBe(200)
    expect((await ask(cookie.replaceAll('console-', 'holder-'))).status).toBe(303)
    const tokens = (await cookieOf(olivia)).split('; ').filter((each) => each.startsWith('console-token'))
    const session = cookie.split('; ').filter((each) => each.startsWith('console-session'))
    const mixed = await ask([...session, ...tokens].join('; '))
    expect(mixed.headers.get('location') ?? (await mixed.text())).not.toContain('alice')
  })

  it('does nothing once the sign-in is over, and goes on after another one', async () => {
    const page = await open('olivia', '/act/freeze-account?subject=alice')
    const nowMs = setting.clock.now()
    setting.clock.advanceSeconds(3_600)
    await press(page, 'Freeze account')
    expect(await title(page)).toBe('Nothing was done')
    expect((await accountNamed('alice'))?.freeze).toBeUndefined()
    setting.clock.set(nowMs)
    await leave(page, () => page.getByRole('link', { name: 'Sign in again' }).click())
    expect(await title(page)).toBe('Freeze account')
    await press(page, 'Freeze account')
    expect(await page.textContent('.note')).toBe('Done.')
    await page.goto(`${setting.console}/act/unfreeze-account?subject=alice`)
    await press(page, 'Unfreeze account')
  })

  it('works without scripts, by keyboard, and in German', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, locale: 'de-DE' })
    const page = await context.newPage()
    await page.goto(`${setting.console}/accounts/bob`)
    await signInAs(page, 'olivia')
    expect(page.url()).toBe(`${setting.console}/accounts/bob`)
    expect(await page.getAttribute('html', 'lang')).toBe('de')
    await page.getByRole('link', { name: 'Konto einfrieren' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/freeze-account/)
    await page.focus('input[name=reason]')
    await page.keyboard.type('Test')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.note.good')
    expect(await page.textContent('.note')).toBe('Erledigt.')
    await page.goto(`${setting.console}/act/unfreeze-account?subject=bob`)
    await page.getByRole('button', { name: 'Konto freigeben' }).click()
    await page.waitForSelector('.note.good')
    await context.close()
  })

  it('shows what strangers wrote as text, and says what it does not find', async () => {
    const page = await open('victor', '/search?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E')
    expect(await title(page)).toBe('Nothing found')
    expect(await page.textContent('main')).toContain('<script>alert(1)</script>')
    for (const path of [
      '/payments/0190a8b1-0000-7000-8000-000000000001',
      '/accounts/x',
      '/act/none',
      '/endpoints/x/y'
    ]) {
      const answer = await page.goto(`${setting.console}${path}`)
      expect([path, answer?.status()]).toEqual([path, 404])
    }
    const bad = await page.goto(`${setting.console}/payments/not-an-id`)
    expect(bad?.status()).toBe(400)
  })
})
