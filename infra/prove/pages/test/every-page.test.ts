import { expect, it } from '@jest/globals'
import { startBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { findViolationsEverywhere } from './support/accessibility.js'
import { SECOND_PERSON_FROM, visitConsolePages } from './support/console-pages.js'
import { startConsole } from './support/console-setting.js'
import { findLostInForcedColors } from './support/forced-colors.js'
import { type Look, visitHolderPages } from './support/holder-pages.js'
import { startSetting } from './support/setting.js'

const TIMEOUT_MS = 600_000

/** What axe-core finds on pages, what is lost in forced colours, and which pages were looked at. */
function createLook(): { readonly look: Look; readonly found: string[]; readonly seen: Set<string> } {
  const found: string[] = []
  const seen = new Set<string>()
  const look: Look = async (name, page) => {
    seen.add(name)
    if ((await page.locator('h1').count()) !== 1) found.push(`${name}: there is not one heading`)
    for (const violation of await findViolationsEverywhere(page)) found.push(`${name}: ${violation}`)
    for (const lost of await findLostInForcedColors(page)) found.push(`${name}: ${lost}`)
  }
  return { look, found, seen }
}

withBrowser('every page can be used by everybody, light and dark, narrow and wide:', () => {
  it(
    'those of account holders',
    async () => {
      const setting = await startSetting()
      const browser = await startBrowser()
      const { look, found, seen } = createLook()
      try {
        await visitHolderPages(setting, browser, look)
      } finally {
        await browser.close()
        await setting.stop()
      }
      expect(found).toEqual([])
      expect(seen.size).toBeGreaterThan(25)
    },
    TIMEOUT_MS
  )

  it(
    'those of the console',
    async () => {
      const setting = await startConsole({ OPERATOR_SECOND_PERSON_FROM: SECOND_PERSON_FROM })
      const browser = await startBrowser()
      const { look, found, seen } = createLook()
      try {
        await visitConsolePages(setting, browser, look)
      } finally {
        await browser.close()
        await setting.stop()
      }
      expect(found).toEqual([])
      // Each act is asked about, and done.
      expect([...seen].filter((name) => /^act-.*-done$/.test(name))).toHaveLength(21)
      expect(seen.size).toBeGreaterThan(70)
    },
    TIMEOUT_MS
  )
})
