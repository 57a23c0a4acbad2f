/** Events that wait to be sent, in order; never more than a limit. Made for one reader. */
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
   * @returns false when there is no place for it
   */
  add(event: Event): boolean {
    if (this.#events.length >= this.#lengthMax) return false
    this.#events.push(event)
    this.#wake()
    return true
  }

  /** Makes every wait, present and future, end with this error. What still waits to be sent is not. */
  fail(error: Error): void {
    this.#failure ??= error
    this.#interrupt(this.#failure)
  }

  /**
   * Waits for something else, but not beyond the failure. Not a race against a promise that lives as long as the
   * backlog: that would remember every wait.
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
   * Takes all events that wait, once there is one.
   *
   * @param waitMaxMs how long it waits for one, in milliseconds; none are taken then
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
