import { outgoingAccess, requestInteractiveGrant } from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import type { Page } from 'playwright-core'
import { signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'
import { setHolder } from './support/shop.js'

const LIMITS = { debitAmount: { value: '2500', assetCode: 'USD', assetScale: 2 } }

withBrowser('a claim that names accounts', () => {
  let setting: Setting
  let browser: TestBrowser

  beforeAll(async () => {
    setting = await startSetting({}, { holderClaim: 'accounts' })
    await setHolder(setting, 'alice')
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  /** The page where somebody is asked for consent to payments from a wallet. */
  const askedBy = async (person: string, wallet: 'alice' | 'bob'): Promise<Page> => {
    const { system } = setting
    const access = [outgoingAccess(system, LIMITS, system.walletAddresses[wallet])]
    const { redirect } = await requestInteractiveGrant(system, system.shop, access, {
      method: 'redirect',
      uri: `${setting.callback}/`,
      nonce: 'client-nonce'
    })
    const page = await (await browser.newContext()).newPage()
    await page.goto(redirect)
    await signIn(page, person)
    return page
  }

  it('lets whoever has it consent, and see what they allow', async () => {
    const page = await askedBy('carol', 'bob')
    await page.locator('button[value=allow]').click()
    await page.waitForURL((url) => url.origin === setting.callback)
    const [record] = await setting.system.authDatabase.query('select sub from consent_record')
    expect(record?.sub).toBe('carol')
    await page.goto(`${setting.pages}/`)
    expect((await page.textContent('main'))?.replaceAll('\u00a0', ' ')).toContain('25.00 USD')
  })

  it.each([
    ['somebody who does not have it', 'mallory', 'bob'],
    ['whoever has it for another account', 'carol', 'alice'],
    ['somebody else’s name', 'bob', 'bob']
  ] as const)('gives nothing to %s', async (_what, person, wallet) => {
    const page = await askedBy(person, wallet)
    expect(await page.locator('button[value=allow]').count()).toBe(0)
    expect(await page.textContent('main')).not.toContain('25.00')
  })
})
