import { ACCEPTED } from './target.js'
import type { Attempt } from './time-limit.js'

/** Counts what came of the cases of one target. */
export class Tally {
  readonly #outcomes = new Map<string, number>()
  #cases = 0
  #slowestMs = 0

  add({ outcome, elapsedMs }: Attempt): void {
    this.#cases += 1
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1)
    this.#slowestMs = Math.max(this.#slowestMs, elapsedMs)
  }

  /** How many cases were tried. */
  get cases(): number {
    return this.#cases
  }

  /** How many of them were accepted. */
  get accepted(): number {
    return this.#outcomes.get(ACCEPTED) ?? 0
  }

  /** One line: how many cases, of each outcome, and the time of the slowest. */
  describe(): string {
    const byCount = [...this.#outcomes].sort(([, left], [, right]) => right - left)
    const outcomes = byCount.map(([outcome, count]) => `${outcome} ${String(count)}`)
    return `${String(this.#cases)} cases, the slowest ${this.#slowestMs.toFixed(1)} ms: ${outcomes.join(', ')}`
  }
}
