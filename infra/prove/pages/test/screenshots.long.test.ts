import { allSettled, createReceiver } from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { signIn } from './support/people.js'
import { type Shown, takePictures } from './support/screenshots.js'
import { type Setting, startSetting } from './support/setting.js'
import { MONTHLY, openShop, setHolder, type Shop, usd } from './support/shop.js'

/** What is written for readers of the documents. */
const SHOWN: Shown = [
  [/http:\/\/localhost:\d+\/allowed/, 'https://pages.wallet.example/allowed'],
  [/localhost:\d+\/(alice|bob)/, 'wallet.example/$1'],
  [/localhost:\d+\/shop/, 'shop.example'],
  [/localhost:\d+/, 'shop.example'],
  [/“shop”/, '“The Shop”'],
  [/^shop$/, 'The Shop'],
  [/^bob$/, 'Bob'],
  [/ to bob$/, ' to Bob'],
  [/alice <b>Example<\/b>/, 'Alice Example']
]

/** `npm run --prefix infra/prove/pages screenshots` */
withBrowser('pictures of the pages of account holders', () => {
  let setting: Setting
  let browser: TestBrowser
  let shop: Shop
  let alice: BrowserContext
  let page: Page

  beforeAll(async () => {
    setting = await startSetting({ PROVIDER_NAME: 'Example Wallet' })
    await setHolder(setting, 'alice')
    browser = await startBrowser()
    alice = browser.context
    shop = await openShop(setting, alice)
    page = await alice.newPage()
    await page.goto(setting.pages)
    await signIn(page, 'alice')
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  const picture = async (name: string, path?: string, isWhole = true): Promise<void> => {
    if (path !== undefined) await page.goto(`${setting.pages}${path}`)
    expect(await page.locator('h1').count()).toBe(1)
    await takePictures(page, name, { shown: SHOWN, isWhole })
  }
  const press = async (selector: string): Promise<void> => {
    await page.locator(selector).first().click()
    await page.waitForLoadState()
  }

  it('are taken of consent', async () => {
    const monthly = await shop.ask()
    await page.goto(monthly.redirect)
    await picture('consent', undefined, false)
    await page.goto(monthly.redirect)
    await page.click('summary')
    await page.fill('input[name=amount-0]', '20.00')
    await press('details button')
    await picture('consent-less')
    const { url: receiver } = await createReceiver(setting.system, setting.system.shop, { incoming: 1000n })
    const once = await shop.ask({ debitAmount: usd('1000'), receiver })
    await page.goto(once.redirect)
    await picture('consent-payee', undefined, false)
    const consent = page.url()
    await page.goto(once.redirect)
    await press('button[value=decline]')
    await page.goto(consent)
    await picture('consent-declined')
    const other = await shop.ask()
    await page.goto(other.redirect)
    const decided = page.url()
    await press('button[value=allow]')
    await page.goto(decided)
    await picture('consent-allowed')
  })

  it('are taken of payments that are allowed', async () => {
    const [stopped, paused] = [await shop.allow(), await shop.allow({ debitAmount: usd('99900') })]
    const allowed = await shop.allow({ ...MONTHLY, debitAmount: usd('6000') })
    for (const value of [1250, 899, 2000]) await allowed.pay(value)
    await stopped.pay(500)
    await allSettled(setting.system)
    for (const [path, act] of [
      [paused.path, 'pause'],
      [allowed.path, 'pause'],
      [allowed.path, 'resume']
    ] as const) {
      await page.goto(`${setting.pages}${path}`)
      await press(`form[action$="/${act}"] button`)
    }
    await page.goto(`${setting.pages}${stopped.path}/stop`)
    await press('button.danger')
    await page.goto(`${setting.pages}${allowed.path}/lower`)
    await page.fill('input[name=debit-0]', '50.00')
    await press('main button.primary')
    await picture('receipt-of-lowering')
    await picture('payments-you-allow', '/')
    await picture('payment-you-allow', allowed.path)
    await picture('lower', `${allowed.path}/lower`)
    await picture('stop', `${allowed.path}/stop`)
    await picture('receipt', `${allowed.path}/receipt`)
    await picture('ended', '/ended')
    await picture('stopped', stopped.path)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForLoadState()
    await picture('signed-out', '/signed-out')
  })
})
