import type { BrowserContextOptions, Locator } from 'playwright-core'

/** How somebody uses pages. */
export interface Hands {
  /** What their browser is like. */
  readonly browser: BrowserContextOptions
  /** Presses a button, follows a link, or unfolds something. */
  press(target: Locator): Promise<void>
  /** Writes into a field, in the place of what is there. */
  write(target: Locator, text: string): Promise<void>
}

/** With a pointer, in a browser that runs scripts. */
export const MOUSE: Hands = {
  browser: {},
  press: (target) => target.click(),
  write: (target, text) => target.fill(text)
}

/** With a pointer, in a browser that runs no scripts. */
export const MOUSE_WITHOUT_SCRIPTS: Hands = { ...MOUSE, browser: { javaScriptEnabled: false } }

/** With the keyboard alone: the tab key from where the focus is, until it is there. */
export const KEYBOARD: Hands = {
  browser: {},
  async press(target) {
    await reach(target)
    await target.page().keyboard.press('Enter')
  },
  async write(target, text) {
    await reach(target)
    await target.page().keyboard.press('Control+A')
    await target.page().keyboard.type(text)
  }
}

/** Most places of a page that the focus goes to. */
const FOCUSED_MAX = 100

async function reach(target: Locator): Promise<void> {
  await target.waitFor()
  for (let count = 0; count < FOCUSED_MAX; count += 1) {
    await target.page().keyboard.press('Tab')
    if (await target.evaluate((node) => node === document.activeElement)) return
  }
  throw new Error(`the keyboard does not reach ${target.toString()}`)
}
