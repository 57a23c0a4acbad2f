import type { Clock } from '@open-payments-server/value-types/clock'

/** A clock that moves only when told to. */
export class TestClock implements Clock {
  #nowMs: number

  /** @param startMs where it starts, in milliseconds since 1970; the present unless given */
  constructor(startMs = Date.now()) {
    this.#nowMs = startMs
  }

  now(): number {
    return this.#nowMs
  }

  /** Moves it forward. */
  advanceSeconds(seconds: number): void {
    this.#nowMs += seconds * 1_000
  }

  /** Moves it to an instant, in milliseconds since 1970. */
  set(nowMs: number): void {
    this.#nowMs = nowMs
  }
}

/** A test clock that also moves by itself, as time passes: for what waits and looks again. */
export class RunningTestClock extends TestClock {
  readonly #startedAtMs = performance.now()

  override now(): number {
    return super.now() + this.#elapsedMs()
  }

  override set(nowMs: number): void {
    super.set(nowMs - this.#elapsedMs())
  }

  #elapsedMs(): number {
    return Math.floor(performance.now() - this.#startedAtMs)
  }
}
