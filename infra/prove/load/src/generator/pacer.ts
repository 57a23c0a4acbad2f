/** How often due requests are checked for. */
const TICK_MS = 1
/** A longer gap means that the generator itself was delayed: the requests that became due are then started evenly, not at once. */
const HELD_UP_MS = 5

/** How fast and for how long requests are started. */
interface Pace {
  readonly seconds: number
  /** Maximum number of requests. */
  readonly countMax: number
  /** Requests that become due per second; absent: whenever a sender is free. */
  readonly perSecond?: number | undefined
  /** How long latencies do not count, because code is still being compiled. */
  readonly leadInSeconds?: number | undefined
}

/**
 * Decides when each sender starts its next request, until time or requests are used up.
 *
 * With a rate, requests become due evenly, whether or not a sender is free. The latency of a request that had to wait for a sender
 * counts from when it was due, because a client would have waited, too.
 */
export class Pacer {
  readonly #options: Pace
  #begun = 0
  #startMs = performance.now()
  #tickedMs = this.#startMs
  readonly #endMs: number
  readonly #countsFromMs: number
  readonly #waiting: ((dueMs: number | undefined) => void)[] = []
  readonly #timer: NodeJS.Timeout | undefined

  constructor(options: Pace) {
    this.#options = options
    this.#endMs = this.#startMs + options.seconds * 1_000
    this.#countsFromMs = this.#startMs + (options.leadInSeconds ?? 0) * 1_000
    if (options.perSecond !== undefined) this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  /** Calls back with the time from which the next request's latency counts; undefined when there are no more. */
  next(begin: (dueMs: number | undefined) => void): void {
    const nowMs = performance.now()
    if (this.#isOver(nowMs)) {
      begin(undefined)
    } else if (this.#options.perSecond === undefined) {
      this.#begun += 1
      begin(nowMs)
    } else {
      const dueMs = this.#dueMs(this.#options.perSecond)
      // While senders wait, a due request waits only for the timer.
      if (dueMs > nowMs || this.#waiting.length > 0) {
        this.#waiting.push(begin)
        return
      }
      this.#begun += 1
      begin(dueMs)
    }
  }

  /** Whether the latency of a request that was due then counts. */
  counts(dueMs: number): boolean {
    return dueMs >= this.#countsFromMs
  }

  #tick(): void {
    const nowMs = performance.now()
    const lateMs = nowMs - this.#tickedMs - TICK_MS
    this.#tickedMs = nowMs
    if (lateMs > HELD_UP_MS && this.#waiting.length > 0) this.#startMs += lateMs
    if (this.#isOver(nowMs)) {
      clearInterval(this.#timer)
      for (const begin of this.#waiting.splice(0)) begin(undefined)
      return
    }
    // A waiting sender was free in time: a late timer is not the server's fault.
    while (
      this.#waiting.length > 0 &&
      this.#dueMs(this.#options.perSecond ?? 1) <= nowMs &&
      !this.#isOver(nowMs)
    ) {
      this.#begun += 1
      this.#waiting.shift()?.(performance.now())
    }
  }

  #dueMs(perSecond: number): number {
    return this.#startMs + (this.#begun * 1_000) / perSecond
  }

  #isOver(nowMs: number): boolean {
    return nowMs >= this.#endMs || this.#begun >= this.#options.countMax
  }
}
