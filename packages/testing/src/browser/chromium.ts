import { existsSync } from 'node:fs'
import { describe } from '@jest/globals'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'

const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync', '--no-first-run'],
  ...['--disable-component-update', '--disable-quic']
]

/** `describe` if there is a browser; otherwise its tests are skipped, with a message. */
export const withBrowser: (name: string, tests: () => void) => void = existsSync(CHROMIUM)
  ? describe
  : describe.skip
if (withBrowser !== describe) {
  console.log(`the browser tests are skipped: there is no ${CHROMIUM} (set CHROMIUM_PATH)`)
}

/** A browser, with a first profile. */
export interface TestBrowser {
  readonly context: BrowserContext
  /** A profile of its own: it shares no cookies with others. */
  newContext(options?: Parameters<Browser['newContext']>[0]): Promise<BrowserContext>
  close(): Promise<void>
}

/** Starts a browser without a window. */
export async function startBrowser(): Promise<TestBrowser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
  return {
    context: await browser.newContext(),
    newContext: (options) => browser.newContext(options),
    close: () => browser.close()
  }
}
