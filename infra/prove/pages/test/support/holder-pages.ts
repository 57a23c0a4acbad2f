import { createReceiver, outgoingAccess } from '@open-payments-server/acceptance'
import type { BrowserContext, Page } from 'playwright-core'
import { type ClientWallet, startClientWallet } from '@open-payments-server/testing'
import type { TestBrowser } from '@open-payments-server/testing/browser'
import { leave, signIn } from './people.js'
import type { Setting } from './setting.js'
import { MONTHLY, openShop, setHolder, type Shop, usd } from './shop.js'

/** Looks at a page that a browser shows. @param name of what it shows, as in the names of pictures */
export type Look = (name: string, page: Page) => Promise<void>

/** Who looks at pages, and how. */
interface Looking {
  readonly setting: Setting
  readonly shop: Shop
  /** Of alice. */
  readonly page: Page
  readonly look: Look
}

/**
 * Brings a browser to every page of account holders, and to each way that consent and acts end.
 *
 * @param setting in which nobody is signed in, and time passes at the end
 */
export async function visitHolderPages(setting: Setting, browser: TestBrowser, look: Look): Promise<void> {
  await setHolder(setting, 'alice')
  const elsewhere = await startClientWallet()
  const shop = await openShop(moveShop(setting, elsewhere), browser.context)
  const page = await browser.context.newPage()
  await page.goto(setting.pages)
  await signIn(page, 'alice')
  const bob = await browser.newContext()
  const looking = { setting, shop, page, look }
  await visitConsent(looking)
  await visitNotices(looking, bob)
  await visitAllowed(looking)
  await visitFormerHolder(looking, bob)
  await visitMishaps(looking)
  await visitSignOutMeanwhile(looking)
  // The last one: the client signs by the clock of this machine, which is not put forward.
  await visitLateDecisions(looking)
  await leave(page, () => page.getByRole('button', { name: 'Sign out' }).click())
  await page.goto(`${setting.pages}/signed-out`)
  await look('signed-out', page)
  await bob.close()
  await elsewhere.stop()
}

/** The shop as a client on a host of its own: only who asks for several things at once is another customer of the provider. */
function moveShop(setting: Setting, elsewhere: ClientWallet): Setting {
  const { shop } = setting.system
  const walletAddress = elsewhere.setWalletAddress('shop', { keys: [shop.key.jwk] })
  return { ...setting, system: { ...setting.system, shop: { ...shop, walletAddress } } }
}

/** Follows a link, or sends a form, and waits for the next page. */
async function press(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.locator(selector).first().click()])
}

async function visitConsent({ setting, shop, page, look }: Looking): Promise<void> {
  const { system } = setting
  const monthly = await shop.ask()
  await page.goto(monthly.redirect)
  await look('consent', page)
  const path = page.url()
  for (const [language, name] of [['de', 'consent-german'], ['en']] as const) {
    const query = new URLSearchParams({ set: language, to: path.slice(setting.pages.length) })
    await page.goto(`${setting.pages}/language?${query.toString()}`)
    if (name !== undefined) await look(name, page)
  }
  for (const [amount, name] of [
    ['99.00', 'consent-less-refused'],
    ['20.00', 'consent-less']
  ] as const) {
    await page.goto(monthly.redirect)
    await page.click('summary')
    await page.fill('input[name=amount-0]', amount)
    await press(page, 'details button')
    await look(name, page)
  }
  const { url: receiver } = await createReceiver(system, system.shop, { incoming: 1000n })
  const once = await shop.ask({ debitAmount: usd('1000'), receiver })
  await page.goto(once.redirect)
  await look('consent-payee', page)
  const declined = page.url()
  await leave(page, () => page.click('button[value=decline]'))
  await page.goto(declined)
  await look('consent-declined', page)
  await page.goto((await shop.ask({})).redirect)
  await look('consent-without-limit', page)
  await page.goto(await askForSeveral(setting))
  await look('consent-several', page)
  await page.goto((await shop.ask()).redirect)
  const allowed = page.url()
  await leave(page, () => page.click('button[value=allow]'))
  await page.goto(allowed)
  await look('consent-allowed', page)
}

/** Asks for two things at once. */
async function askForSeveral({ system }: Setting): Promise<string> {
  const { alice } = system.walletAddresses
  const incoming = { type: 'incoming-payment', actions: ['create', 'read', 'list'], identifier: alice }
  const answer = await system.shop.request('POST', system.authServerUrl, {
    body: {
      client: system.shop.walletAddress,
      access_token: { access: [outgoingAccess(system, { debitAmount: usd('1200') }), incoming] },
      interact: { start: ['redirect'] }
    }
  })
  return answer.textAt('interact.redirect')
}

async function visitNotices({ setting, shop, page, look }: Looking, bob: BrowserContext): Promise<void> {
  const other = await bob.newPage()
  await other.goto((await shop.ask()).redirect)
  await signIn(other, 'bob')
  await look('consent-for-somebody-else', other)
  await other.goto(setting.pages)
  await look('nothing-allowed', other)
  await other.close()
  for (const [name, path] of [
    ['consent-gone', '/consent?interactId=gone&nonce=gone'],
    ['consent-incomplete', '/consent'],
    ['no-such-page', '/nowhere'],
    ['sign-in-lost', '/signed-in?state=gone']
  ] as const) {
    await page.goto(`${setting.pages}${path}`)
    await look(name, page)
  }
}

async function visitAllowed({ setting, shop, page, look }: Looking): Promise<void> {
  const [stopped, paused] = [await shop.allow(), await shop.allow({ debitAmount: usd('99900') })]
  const allowed = await shop.allow({ ...MONTHLY, debitAmount: usd('6000') })
  for (const value of [1250, 899, 2000]) await allowed.pay(value)
  await stopped.pay(500)
  const goTo = (path: string): Promise<unknown> => page.goto(`${setting.pages}${path}`)
  for (const [{ path }, act, name] of [
    [paused, 'pause', 'receipt-of-pausing'],
    [allowed, 'pause', undefined],
    [allowed, 'resume', 'receipt-of-resuming']
  ] as const) {
    await goTo(path)
    await press(page, `form[action$="/${act}"] button`)
    // So much wants a fresh sign-in.
    if (page.url().startsWith(setting.issuer)) await signIn(page, 'alice')
    if (name !== undefined) await look(name, page)
  }
  await goTo(`${stopped.path}/stop`)
  await press(page, 'button.danger')
  await look('receipt-of-stopping', page)
  await goTo(`${allowed.path}/lower`)
  await page.fill('input[name=debit-0]', '70.00')
  await press(page, 'main button.primary')
  await look('lower-refused', page)
  await page.fill('input[name=debit-0]', '50.00')
  await press(page, 'main button.primary')
  await look('receipt-of-lowering', page)
  for (const [name, path] of [
    ['payments-you-allow', '/'],
    ['payment-you-allow', allowed.path],
    ['payment-you-paused', paused.path],
    ['lower', `${allowed.path}/lower`],
    ['stop', `${allowed.path}/stop`],
    ['receipt', `${allowed.path}/receipt`],
    ['ended', '/ended'],
    ['stopped', stopped.path],
    ['stopped-before', `${stopped.path}/stop`]
  ] as const) {
    await goTo(path)
    await look(name, page)
  }
}

/** What goes wrong with a request while somebody decides about it. */
async function visitMishaps({ setting, shop, page, look }: Looking): Promise<void> {
  const { authApi, issuerFront, issuer, pages } = setting
  const open = async (): Promise<unknown> => page.goto((await shop.ask()).redirect)
  const allow = (): Promise<void> => leave(page, () => page.click('button[value=allow]'))
  for (const [name, field] of [
    ['consent-changed', 'hash'],
    ['consent-forged', 'token']
  ] as const) {
    await open()
    await page.evaluate(`document.querySelector('input[name=${field}]').value = 'of another page'`)
    await allow()
    await look(name, page)
  }
  await open()
  authApi.breaks = () => 'cut'
  await allow()
  await look('unsure', page)
  await page.goto(`${pages}/consent?interactId=any&nonce=any`)
  await look('unavailable', page)
  authApi.breaks = () => undefined
  await open()
  issuerFront.breaks = (path) => (path.startsWith('/token') ? 'cut' : undefined)
  await allow()
  await look('interrupted', page)
  for (const [name, error] of [
    ['sign-in-cancelled', 'access_denied'],
    ['failed', 'temporarily_unavailable']
  ] as const) {
    issuerFront.breaks = (path) => {
      const state = new URL(path, issuer).searchParams.get('state') ?? ''
      const query = new URLSearchParams({ error, state, iss: issuer })
      return { location: `${pages}/signed-in?${query.toString()}` }
    }
    await page.goto(`${pages}/sign-in`)
    await look(name, page)
  }
  issuerFront.breaks = (path) => {
    issuerFront.breaks = () => undefined
    return { location: `${issuer}${path}&prompt=login` }
  }
  await open()
  await allow()
  await signIn(page, 'bob')
  await look('consent-confirmed-by-another', page)
  await page.goto(`${pages}/sign-in?as=other`)
  await signIn(page, 'alice')
}

/** Alice signs out while a page is open that acts. */
async function visitSignOutMeanwhile({ setting, shop, page, look }: Looking): Promise<void> {
  const { path } = await shop.allow()
  await page.goto(`${setting.pages}${path}/stop`)
  const other = await page.context().newPage()
  await other.goto(setting.pages)
  await leave(other, () => other.getByRole('button', { name: 'Sign out' }).click())
  await other.close()
  await press(page, 'button.danger')
  await look('signed-out-meanwhile', page)
  await page.goto(setting.pages)
}

/** Decisions about a request that waited long: first for its proof, then for itself. */
async function visitLateDecisions({ setting, shop, page, look }: Looking): Promise<void> {
  await page.goto((await shop.ask()).redirect)
  const late = page.url()
  setting.system.clock.advanceSeconds(400)
  await leave(page, () => page.click('button[value=allow]'))
  await look('consent-unproven', page)
  setting.system.clock.advanceSeconds(201)
  await page.goto(late)
  await look('consent-expired', page)
}

/** Bob holds the account now, of which alice agreed to something. */
async function visitFormerHolder({ setting, shop, look }: Looking, bob: BrowserContext): Promise<void> {
  const { path } = await shop.allow()
  await setHolder(setting, 'alice', 'bob')
  const page = await bob.newPage()
  await page.goto(`${setting.pages}${path}`)
  await look('agreed-to-by-another', page)
  await page.close()
  await setHolder(setting, 'alice')
}
