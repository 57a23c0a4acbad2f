import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from '@jest/globals'
import { type BrowserContext, chromium } from 'playwright-core'

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

/** A browser with its own profile: it shares no cookies with others. */
export interface TestBrowser {
  readonly context: BrowserContext
  close(): Promise<void>
}

/** Starts a browser without a window. */
export async function startBrowser(): Promise<TestBrowser> {
  const profile = await mkdtemp(join(tmpdir(), 'consent-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: ARGUMENTS
  })
  return {
    context,
    async close() {
      await context.close()
      await rm(profile, { recursive: true, force: true, maxRetries: 3 })
    }
  }
}
