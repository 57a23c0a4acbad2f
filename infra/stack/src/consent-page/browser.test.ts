import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type BrowserContext, chromium } from 'playwright-core'
import {
  CLIENT,
  type ConsentSetting,
  payingAccess,
  startConsentSetting
} from '../../test/fake-auth-server.js'

const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync', '--no-first-run'],
  ...['--disable-component-update', '--disable-quic']
]

const hasBrowser = existsSync(CHROMIUM)
if (!hasBrowser) console.log(`the browser tests are skipped: there is no ${CHROMIUM} (set CHROMIUM_PATH)`)
const withBrowser = hasBrowser ? describe : describe.skip

withBrowser('the consent page in a browser', () => {
  let setting: ConsentSetting
  let profile: string
  let browser: BrowserContext

  beforeAll(async () => {
    setting = await startConsentSetting()
    profile = await mkdtemp(join(tmpdir(), 'consent-browser-'))
    browser = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGUMENTS })
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
    await rm(profile, { recursive: true, force: true, maxRetries: 3 })
  })
  beforeEach(() => {
    setting.interactions.set('one', { state: 'PENDING', details: { access: [payingAccess], client: CLIENT } })
  })

  it.each([
    ['Accept', 'APPROVED', 'the client was told yes'],
    ['Decline', 'DENIED', 'the client was told grant_rejected']
  ])('%s is recorded and leads back to the client, on another host', async (button, state, told) => {
    const page = await browser.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(setting.consentUrl('one'))
    await page.getByRole('button', { name: button }).click()
    await page.waitForURL(`${setting.callbackUrl}**`)
    expect(await page.textContent('body')).toBe(told)
    expect(setting.interactions.get('one')?.state).toBe(state)
    // A complaint would be of the content security policy. Only the client's page may be without an icon.
    expect(complaints.filter((complaint) => !complaint.includes('404'))).toEqual([])
    await page.close()
  })

  it('can be read and used with the keyboard alone', async () => {
    const page = await browser.newPage()
    await page.goto(setting.consentUrl('one'))
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(
      '“Corner Shop” asks for access'
    )
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Decline')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Accept')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${setting.callbackUrl}**`)
    expect(setting.interactions.get('one')?.state).toBe('APPROVED')
    await page.close()
  })

  it('fits a narrow phone without scrolling sideways', async () => {
    const page = await browser.newPage()
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(setting.consentUrl('one', { clientName: 'W'.repeat(200) }))
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await page.close()
  })
})
