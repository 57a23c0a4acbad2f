/** The most packets under way at once. */
const WINDOW_MAX = 20
const PAUSE_FIRST_MS = 20
const PAUSE_MAX_MS = 2000
/** After a packet of which nothing is known: the next could get lost, too. */
const PAUSE_UNKNOWN_FIRST_MS = 1000
const PAUSE_UNKNOWN_MAX_MS = 8000
/** Packets that are too large, one after the other, by which an attempt ends: halved so often, 10^15 is one. */
const TOO_LARGE_MAX = 50

/** Of the time that packets have: up to which part of it more of them may be under way, and from which on fewer. */
const QUICK_SHARE = 0.1
const SLOW_SHARE = 0.25

/** How many packets may be under way, and when the next may be sent. It backs off when packets are rejected. */
export class Pace {
  /** It grows with each fulfillment: whoever does not answer does not get much. */
  #window = 1
  #failedInRow = 0
  #tooLargeInRow = 0
  #pauseUntilMs = 0

  /** How many packets may be under way now, milliseconds since the Unix epoch. */
  windowAt(nowMs: number): number {
    return nowMs < this.#pauseUntilMs ? 0 : Math.floor(this.#window)
  }

  /** When the pause ends; in the past when there is none. */
  get pauseUntilMs(): number {
    return this.#pauseUntilMs
  }

  /** Whether so many packets were too large, and none was fulfilled, that no more are tried. */
  get isStuck(): boolean {
    return this.#tooLargeInRow >= TOO_LARGE_MAX
  }

  /** @param share of the time that a packet has, the part that this one took: more of them at once would come too late */
  fulfilled(share: number): void {
    this.#failedInRow = 0
    this.#tooLargeInRow = 0
    if (share <= QUICK_SHARE) this.#window = Math.min(WINDOW_MAX, this.#window + 1)
    else if (share > SLOW_SHARE) this.#window = Math.max(1, this.#window / 2)
  }

  /**
   * Half as many packets may be under way then. Those that were under way together count as one.
   *
   * @param isOverload whether the path has too much to do: then each counts
   */
  rejected(nowMs: number, isOverload: boolean): void {
    if (isOverload || nowMs >= this.#pauseUntilMs) this.#window = Math.max(1, this.#window / 2)
    this.#pause(nowMs, PAUSE_FIRST_MS, PAUSE_MAX_MS)
  }

  /** A packet was too large. The next is sent at once, but no others with it once more were too large than can be under way together. */
  tooLarge(): void {
    this.#tooLargeInRow += 1
    if (this.#tooLargeInRow > WINDOW_MAX) this.#window = 1
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
