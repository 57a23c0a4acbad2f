import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { startBrowser, type TestBrowser, withBrowser } from '../../test/chromium.js'
import {
  CLIENT,
  type ConsentSetting,
  payingAccess,
  startConsentSetting
} from '../../test/fake-auth-server.js'

withBrowser('the consent page in a browser', () => {
  let setting: ConsentSetting
  let browser: TestBrowser

  beforeAll(async () => {
    setting = await startConsentSetting()
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })
  beforeEach(async () => {
    // The browser remembers that it decided the interaction of this name.
    await browser.context.clearCookies()
    setting.interactions.set('one', { state: 'PENDING', details: { access: [payingAccess], client: CLIENT } })
  })

  it.each([
    ['Accept', 'APPROVED', 'the client was told yes'],
    ['Decline', 'DENIED', 'the client was told grant_rejected']
  ])('%s is recorded and leads back to the client, on another host', async (button, state, told) => {
    const page = await browser.context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(setting.consentUrl('one'))
    await page.getByRole('button', { name: button }).click()
    await page.waitForURL(`${setting.callbackUrl}**`)
    expect(await page.textContent('body')).toBe(told)
    expect(setting.interactions.get('one')?.state).toBe(state)
    // Console errors would come from the content security policy. Only the client's page may lack an icon.
    expect(complaints.filter((complaint) => !complaint.includes('404'))).toEqual([])
    await page.close()
  })

  it('can be read and used with the keyboard alone', async () => {
    const page = await browser.context.newPage()
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
    const page = await browser.context.newPage()
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(setting.consentUrl('one', { clientName: 'W'.repeat(200) }))
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await page.close()
  })
})
