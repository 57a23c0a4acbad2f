import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Answers only what is wrong: all that is right would take longer to tell than to find. */
const RUN = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`

/** The narrowest page that must be usable (WCAG 2.2, 1.4.10), and a wide one, in pixels. */
const WIDTHS = [320, 1280]
const SCHEMES = ['light', 'dark'] as const

/** Rules of axe-core that a page breaks: `rule: selector`. The page stays as it is, also one that answers a form. */
export async function findViolations(page: Page): Promise<string[]> {
  // Not as a script of the page, whose policy allows none.
  await page.evaluate(axe.source)
  return page.evaluate<string[]>(RUN)
}

/** The same, light and dark, on a narrow page and a wide one, and where it has to be scrolled sideways: `320 dark rule: selector`. */
export async function findViolationsEverywhere(page: Page): Promise<string[]> {
  const found: string[] = []
  await page.evaluate(axe.source)
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme })
      const violations = await page.evaluate<string[]>(RUN)
      found.push(...violations.map((each) => `${String(width)} ${colorScheme} ${each}`))
    }
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    )
    if (overflow > 0) found.push(`${String(width)} is ${String(overflow)} pixels too wide`)
  }
  return found
}
