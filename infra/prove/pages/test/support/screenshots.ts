import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const FOLDER =
  process.env.SCREENSHOTS_FOLDER ??
  fileURLToPath(new URL('../../../../../docs/images/pages/', import.meta.url))
const FORMAT = process.env.SCREENSHOTS_FORMAT === 'png' ? 'png' : 'webp'

const DEVICES = { phone: { width: 390, height: 844 }, desktop: { width: 1024, height: 720 } }
const SCHEMES = ['light', 'dark'] as const

/** Texts that are shown instead of others: addresses of this machine say nothing to readers. */
export type Shown = readonly (readonly [RegExp, string])[]

/**
 * Takes pictures of an open page, on a phone and a desktop, light and dark: `<name>-phone-dark.webp` in docs/images/pages.
 *
 * @param isWhole whether all of it is in the picture, rather than what can be seen without scrolling
 */
export async function takePictures(
  page: Page,
  name: string,
  { shown = [], isWhole = true }: { readonly shown?: Shown; readonly isWhole?: boolean } = {}
): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  await page.evaluate(
    replaceTexts,
    shown.map(([from, to]) => [from.source, to] as const)
  )
  const cdp = await page.context().newCDPSession(page)
  for (const [device, size] of Object.entries(DEVICES)) {
    for (const colorScheme of SCHEMES) {
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme })
      if (isWhole) {
        const height = await page.evaluate<number>('document.documentElement.scrollHeight')
        await page.setViewportSize({ ...size, height: Math.max(height, size.height) })
      }
      const quality = FORMAT === 'png' ? {} : { quality: 82 }
      const { data } = await cdp.send('Page.captureScreenshot', { format: FORMAT, ...quality })
      await writeFile(join(FOLDER, `${name}-${device}-${colorScheme}.${FORMAT}`), Buffer.from(data, 'base64'))
    }
  }
  await cdp.detach()
}

/** Runs in the page. */
function replaceTexts(shown: readonly (readonly [string, string])[]): void {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    for (const [from, to] of shown) node.nodeValue = (node.nodeValue ?? '').replace(new RegExp(from, 'g'), to)
}
