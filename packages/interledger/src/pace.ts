/** The most packets under way at once. */
const WINDOW_MAX = 20
const PAUSE_FIRST_MS = 20
const PAUSE_MAX_MS = 2000
/** After a packet of which nothing is known: the next could get lost, too. */
const PAUSE_UNKNOWN_FIRST_MS = 1000
const PAUSE_UNKNOWN_MAX_MS = 8000

/** How many packets may be under way, and when the next may be sent. It backs off when packets are rejected. */
export class Pace {
  /** It grows with each fulfillment: whoever does not answer does not get much. */
  #window = 1
  #failedInRow = 0
  #pauseUntilMs = 0

  /** How many packets may be under way now, milliseconds since the Unix epoch. */
  windowAt(nowMs: number): number {
    return nowMs < this.#pauseUntilMs ? 0 : Math.floor(this.#window)
  }

  /** When the pause ends; in the past when there is none. */
  get pauseUntilMs(): number {
    return this.#pauseUntilMs
  }

  fulfilled(): void {
    this.#failedInRow = 0
    this.#window = Math.min(WINDOW_MAX, this.#window + 1)
  }

  /** @param isOverload whether the path has too much to do: fewer packets may be under way then */
  rejected(nowMs: number, isOverload: boolean): void {
    if (isOverload) this.#window = Math.max(1, this.#window / 2)
    this.#pause(nowMs, PAUSE_FIRST_MS, PAUSE_MAX_MS)
  }

  /** Nothing is known of a packet. */
  unknown(nowMs: number): void {
    this.#window = 1
    this.#pause(nowMs, PAUSE_UNKNOWN_FIRST_MS, PAUSE_UNKNOWN_MAX_MS)
  }

  /** Twice as long with each failure in a row. Those of packets that were under way together count as one. */
  #pause(nowMs: number, firstMs: number, maxMs: number): void {
    if (nowMs < this.#pauseUntilMs) return
    this.#pauseUntilMs = nowMs + Math.min(maxMs, firstMs * 2 ** this.#failedInRow)
    this.#failedInRow = Math.min(this.#failedInRow + 1, 10)
  }
}
