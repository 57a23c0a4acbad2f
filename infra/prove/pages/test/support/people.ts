import type { Page } from 'playwright-core'

/** Signs in on the page of the issuer, which takes any name and any password. */
export async function signIn(page: Page, name: string): Promise<void> {
  await page.fill('input[name=login]', name)
  await page.fill('input[name=password]', 'any')
  await page.click('button[type=submit]')
  await page.waitForLoadState()
}
