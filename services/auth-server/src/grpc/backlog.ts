/** Events waiting to be sent, in order, up to a limit. For one reader. */
export class Backlog<Event> {
  readonly #events: Event[] = []
  readonly #lengthMax: number
  #failure: Error | undefined
  #interrupt: (error: Error) => void = () => undefined
  #wake: () => void = () => undefined

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax
  }

  /**
   * Adds an event.
   *
   * @returns false when it is full
   */
  add(event: Event): boolean {
    if (this.#events.length >= this.#lengthMax) return false
    this.#events.push(event)
    this.#wake()
    return true
  }

  /** Makes every wait, present and future, end with this error. Waiting events are not sent. */
  fail(error: Error): void {
    this.#failure ??= error
    this.#interrupt(this.#failure)
  }

  /**
   * Waits for something else, but not beyond the failure. This is not a race against a promise that lives as long as the
   * backlog, which would remember every wait.
   *
   * @throws the error given to `fail`
   */
  whileSound<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject
      work.then(resolve, reject)
      if (this.#failure !== undefined) reject(this.#failure)
    })
  }

  /**
   * Takes all waiting events, once there is one.
   *
   * @param waitMaxMs how long to wait for one, in milliseconds; then none are taken
   * @throws the error given to `fail`
   */
  async take(waitMaxMs: number): Promise<readonly Event[]> {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#events.length === 0) {
      let timer: NodeJS.Timeout | undefined
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
        timer = setTimeout(resolve, waitMaxMs)
      })
      await this.whileSound(woken).finally(() => {
        clearTimeout(timer)
      })
    }
    return this.#events.splice(0)
  }
}
