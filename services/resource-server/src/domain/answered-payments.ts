import type { Clock } from '@open-payments-server/value-types/clock'

/** Longer than a database takes to be replaced, and lags behind, in milliseconds. */
const REMEMBERED_MS = 600_000
const REMEMBERED_MAX = 100_000

/** The payments that this process answered lately, the oldest first. */
export class AnsweredPayments {
  readonly #clock: Clock
  /** When each was answered, in milliseconds since the Unix epoch, by id. */
  readonly #answered = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A client is about to be told that a payment (UUID) was made. */
  remember(id: string): void {
    const nowMs = this.#clock.now()
    for (const [oldest, answeredAtMs] of this.#answered) {
      if (this.#answered.size < REMEMBERED_MAX && nowMs - answeredAtMs < REMEMBERED_MS) break
      this.#answered.delete(oldest)
    }
    this.#answered.set(id, nowMs)
  }

  /** Ids (UUID) of those that are remembered. */
  list(): readonly string[] {
    return [...this.#answered.keys()]
  }

  /** It is known what became of a payment (UUID). */
  forget(id: string): void {
    this.#answered.delete(id)
  }
}
