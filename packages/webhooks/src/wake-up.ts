/** Lets one loop sleep until it is woken. */
export class WakeUp {
  #isWoken = false
  #wake: (() => void) | undefined

  /** From now on, being woken counts: it ends the next sleep, even before that begins. */
  expect(): void {
    this.#isWoken = false
  }

  /** Wakes the loop. */
  wake(): void {
    this.#isWoken = true
    this.#wake?.()
  }

  /** Sleeps until woken, or for a time. */
  async within(waitMs: number | undefined): Promise<void> {
    if (this.#isWoken || (waitMs !== undefined && waitMs <= 0)) return
    await new Promise<void>((resolve) => {
      const timer = waitMs === undefined ? undefined : setTimeout(resolve, waitMs)
      const wake = (): void => {
        clearTimeout(timer)
        resolve()
      }
      this.#wake = wake
    })
    this.#wake = undefined
  }
}
