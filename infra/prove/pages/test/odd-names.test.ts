import { promises as dns } from 'node:dns'
import {
  allSettled,
  createReceiver,
  outgoingAccess,
  requestInteractiveGrant,
  type TestClient
} from '@open-payments-server/acceptance'
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import {
  type ClientWallet,
  createSigningClient,
  createTestKey,
  startClientWallet
} from '@open-payments-server/testing'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import type { Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import { signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'
import { type Allowed, MONTHLY, openShop, setHolder, type Shop, usd } from './support/shop.js'

const ONCE = { idempotent: false }
/** Markup, a right-to-left override, Cyrillic letters that look like Latin ones, and no place to break the line. */
const ODD = `\u202e<b>Ехаmрlе</b> Wаllеt ${'W'.repeat(500)}`
/** As much of it as a wallet address here may be called. */
const ODD_HERE = ODD.slice(0, 128)
/** The longest name of an account. */
const LONG = 'w'.repeat(64)
/** A path that needs many lines on a phone. */
const LONG_PATH = `/${'m'.repeat(190)}`
const WIDTHS = [320, 1_280]
/** Cyrillic letters that look like `apple`, and how a domain has them in ASCII. */
const LOOK_ALIKE = { shown: 'аррlе.example', inAscii: 'xn--l-7sbq6ba.example' }

withBrowser('names that strangers chose', () => {
  let setting: Setting
  let elsewhere: ClientWallet
  let browser: TestBrowser
  let client: TestClient
  let payee: string
  let shop: Shop
  let page: Page
  let allowed: Allowed

  beforeAll(async () => {
    setting = await startSetting()
    await setHolder(setting, 'alice')
    const { system } = setting
    elsewhere = await startClientWallet()
    const key = createTestKey('odd-key')
    const walletAddress = elsewhere.setWalletAddress('odd', { publicName: ODD, keys: [key.jwk] })
    const { clock } = system
    const signing = { keyId: key.keyId, privateKey: key.privateKey, clock }
    client = { ...createSigningClient(signing), walletAddress, key }
    const asset = { code: 'USD', scale: 2 }
    await callUnary(system.operator, 'createAccount', { name: LONG, asset }, ONCE)
    const request = { path: '/odd', publicName: ODD_HERE, accountName: LONG }
    const made = await callUnary(system.operator, 'createWalletAddress', request, ONCE)
    payee = made.walletAddress?.url ?? ''
    browser = await startBrowser()
    const walletAddresses = { ...system.walletAddresses, bob: payee }
    setting = { ...setting, system: { ...system, shop: client, walletAddresses } }
    shop = await openShop(setting, browser.context)
    page = await browser.context.newPage()
    await page.goto(setting.pages)
    await signIn(page, 'alice')
  })
  afterAll(async () => {
    await browser.close()
    await elsewhere.stop()
    await setting.stop()
  })

  afterEach(() => {
    jest.restoreAllMocks()
  })

  /** What of an open page cannot be read or used. */
  const faultsOf = async (): Promise<string[]> => {
    const faults: string[] = []
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      const overflow = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      )
      if (overflow > 0) faults.push(`${String(overflow)} of ${String(width)} pixels cannot be seen`)
    }
    const content = (await page.locator('main').textContent()) ?? ''
    if (/[\u202a-\u202e\u2066-\u2069]/.test(content)) faults.push('its direction is changed')
    if (content.includes('W'.repeat(100))) faults.push('a name is all there is')
    if ((await page.locator('main b').count()) > 0) faults.push('a name is markup')
    return [...faults, ...(await findViolations(page))]
  }
  const expectReadable = async (url: string): Promise<void> => {
    await page.goto(url)
    const { pathname } = new URL(page.url())
    expect([pathname, await faultsOf()]).toEqual([pathname, []])
  }

  it('leave a request readable, which says whose name it is', async () => {
    const { url: receiver } = await createReceiver(setting.system, client, { incoming: 1_000n })
    const { redirect } = await shop.ask({ debitAmount: usd('1000'), receiver })
    await expectReadable(redirect)
    const main = (await page.textContent('main')) ?? ''
    // By addresses, with names as what they say of themselves.
    for (const part of [
      `${new URL(elsewhere.origin).host}/odd`,
      new URL(payee).host,
      '<b>Ехаmрlе</b> Wаllеt WWW'
    ])
      expect(main).toContain(part)
  })

  it('show domains with letters that look like others in ASCII, in titles, too', async () => {
    // Nobody has such a domain here.
    const { lookup } = dns
    jest
      .spyOn(dns, 'lookup')
      .mockImplementation(((name: string, options: object) =>
        lookup(name === LOOK_ALIKE.inAscii ? '127.0.0.1' : name, options)) as typeof lookup)
    const { port } = new URL(elsewhere.origin)
    const walletAddress = `http://${LOOK_ALIKE.inAscii}:${port}/look-alike`
    const asset = { assetCode: 'USD', assetScale: 2 }
    const at = { authServer: elsewhere.origin, resourceServer: elsewhere.origin }
    elsewhere.setDocument('/look-alike', { id: walletAddress, publicName: LOOK_ALIKE.shown, ...asset, ...at })
    elsewhere.setDocument('/look-alike/jwks.json', { keys: [client.key.jwk] })
    const titleOf = async (limits: object): Promise<string> => {
      const access = outgoingAccess(setting.system, { debitAmount: usd('100'), ...limits })
      const asked = await requestInteractiveGrant(setting.system, { ...client, walletAddress }, [access])
      await expectReadable(asked.redirect)
      const main = (await page.textContent('main')) ?? ''
      expect(main).toContain(`${LOOK_ALIKE.inAscii}:${port}/look-alike`)
      // What it calls itself is told as that, and never as a domain.
      expect(main.replaceAll(`calls itself “${LOOK_ALIKE.shown}”`, '')).not.toContain(LOOK_ALIKE.shown)
      const [title = ''] = (await page.title()).split(' – ')
      expect(await page.textContent('h1')).toBe(title)
      return title.replaceAll('\u00a0', ' ')
    }
    expect(await titleOf({})).toBe(`Let ${LOOK_ALIKE.inAscii}:${port}/look-alike take up to 1.00 USD`)
    const receiver = `http://${LOOK_ALIKE.inAscii}:${port}/incoming-payments/1`
    expect(await titleOf({ receiver })).toBe(`Pay 1.00 USD to a payee at ${LOOK_ALIKE.inAscii}:${port}`)
  })

  it('let nobody ask under the name of the host that they share with the provider', async () => {
    const { system } = setting
    const key = createTestKey('long-key')
    const request = { path: LONG_PATH, publicName: 'mallory', accountName: LONG }
    const { walletAddress: made } = await callUnary(system.operator, 'createWalletAddress', request, ONCE)
    const walletAddress = made?.url ?? ''
    const { kid, x } = key.jwk
    await callUnary(system.operator, 'addClientKey', { walletAddress, kid, x }, ONCE)
    const signing = { keyId: key.keyId, privateKey: key.privateKey, clock: system.clock }
    const long: TestClient = { ...createSigningClient(signing), walletAddress, key }
    const warning = 'Another customer of your provider asks for this, not your provider itself.'
    for (const asking of [system.market, long]) {
      const access = outgoingAccess(system, { debitAmount: usd('100') })
      const { redirect } = await requestInteractiveGrant(system, asking, [access])
      await expectReadable(redirect)
      const { host, pathname } = new URL(asking.walletAddress)
      const title = (await page.textContent('h1'))?.replaceAll('\u00a0', ' ')
      expect(title).toBe(`Let ${host}${pathname} take up to 1.00 USD`)
      expect(await page.locator('dd bdi').allTextContents()).toContain(`${host}${pathname}`)
      expect(await page.textContent('.warning')).toContain(warning)
      await page.setViewportSize({ width: 390, height: 844 })
      const button = await page.locator('button[value=allow]').boundingBox()
      expect((button?.y ?? Infinity) + (button?.height ?? 0)).toBeLessThanOrEqual(844)
    }
  })

  it('leave what is allowed readable', async () => {
    allowed = await shop.allow(MONTHLY)
    expect(await allowed.pay(100)).toBe(201)
    await allSettled(setting.system)
    for (const path of ['/', ...['', '/lower', '/stop', '/receipt'].map((end) => `${allowed.path}${end}`)])
      await expectReadable(`${setting.pages}${path}`)
  })

  it('leave the console readable', async () => {
    const [paid] = await setting.system.resourceDatabase.query<{ id: string }>(
      'select id from outgoing_payment'
    )
    page = await (await browser.newContext()).newPage()
    await page.goto(setting.console)
    await signIn(page, 'operator')
    const query = (path: string, name: string, value: string): string =>
      `${path}?${new URLSearchParams({ [name]: value }).toString()}`
    for (const path of [
      '/payments',
      `/payments/${paid?.id ?? ''}`,
      '/accounts',
      `/accounts/${LONG}`,
      query('/wallet-address', 'url', payee),
      '/grants',
      `/grants/${allowed.id}`,
      query('/client', 'name', client.walletAddress)
    ])
      await expectReadable(`${setting.console}${path}`)
  })
})
