import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const AXE = createRequire(import.meta.url).resolve('axe-core')

/** Rules of axe-core that a page breaks: `rule: selector`. */
export async function findViolations(page: Page): Promise<string[]> {
  // Not as a script of the page, whose policy allows none.
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Page.setBypassCSP', { enabled: true })
  await page.reload()
  await page.addScriptTag({ path: AXE })
  const results = await page.evaluate<AxeResults>('axe.run()')
  await cdp.send('Page.setBypassCSP', { enabled: false })
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target }) => `${id}: ${target.join(' ')}`)
  )
}
