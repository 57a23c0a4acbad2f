import { eventually } from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { leave, signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'
import { openShop, setHolder, usd } from './support/shop.js'

withBrowser('payments you allow, where nothing is proved', () => {
  let setting: Setting
  let browser: TestBrowser

  beforeAll(async () => {
    setting = await startSetting({}, { consentProof: 'none' })
    await setHolder(setting, 'alice')
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  it('stay paused for whoever did not see what was done at the same moment, and say so', async () => {
    const page = await browser.context.newPage()
    await page.goto(setting.pages)
    await signIn(page, 'alice')
    const { id: grantId, path, pay } = await (await openShop(setting, browser.context)).allow()
    const press = (name: string) =>
      leave(page, () => page.locator('main').getByRole('button', { name, exact: true }).click())
    await page.goto(`${setting.pages}${path}`)
    await press('Pause')
    await page.goto(`${setting.pages}${path}`)

    const { authDatabase, holderGrants, walletAddresses } = setting.system
    const acting = {
      holder: { issuer: setting.issuer, sub: 'alice' },
      walletAddresses: [walletAddresses.alice]
    }
    const limits = [{ accessIndex: 0, debitAmount: usd('300'), receiveAmount: undefined }]
    const waiting = async (): Promise<number> => {
      const sql = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await authDatabase.query(sql)).length
    }
    // The page reads what it saw, and waits behind what is done in another tab.
    const { both } = await authDatabase.inTransaction(async (query) => {
      await query('select 1 from grant_request where id = $1 for update', [grantId])
      const lower = { acting, grantId, limits, endTime: undefined }
      const lowering = callUnary(holderGrants, 'lowerGrant', lower, { idempotent: true })
      await eventually('that it waits to be lowered', async () => (await waiting()) >= 1)
      const resuming = press('Resume')
      await eventually('that it waits to be resumed', async () => (await waiting()) >= 2)
      return { both: Promise.all([lowering, resuming]) }
    })
    await both
    expect(await page.textContent('main')).toContain('It has changed since you opened that page.')
    expect(await pay(100)).toBe(403)
    await press('Resume')
    expect(await page.textContent('h1')).toBe('You resumed this')
    expect(await pay(100)).toBe(201)
  })
})
