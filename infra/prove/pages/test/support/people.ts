import type { DevelopmentIssuerOptions } from '@open-payments-server/development-issuer'
import type { Page } from 'playwright-core'

/** Everybody's. */
export const PASSWORD = 'any'

/** Whom the issuer knows, each by a name that is also the `sub`. Their full names have markup. */
export const PEOPLE: DevelopmentIssuerOptions['people'] = [
  'alice',
  'bob',
  'carol',
  'mallory',
  'operator'
].map((username) => ({
  username,
  password: PASSWORD,
  sub: username,
  name: `${username} <b>Example</b>`,
  ...(username === 'operator' ? { roles: ['viewer'] } : {}),
  // What it names counts only where it is configured.
  ...(username === 'carol' ? { accounts: ['bob', 'carol'] } : {})
}))

/** Signs in on the page of the issuer, which leads on. */
export async function signIn(page: Page, name: string): Promise<void> {
  await page.fill('input[name=username]', name)
  await page.fill('input[name=password]', PASSWORD)
  const issuer = new URL(page.url()).origin
  await page.click('button[type=submit]')
  // Where somebody else was signed in, a page of the issuer goes on by itself.
  await page.waitForURL(({ origin }) => origin !== issuer)
}

/** Does what leads to a page, and waits until that has loaded: a click ends before it has even begun to. */
export async function leave(page: Page, act: () => Promise<void>): Promise<void> {
  const loaded = page.waitForEvent('load')
  await act()
  await loaded
}
