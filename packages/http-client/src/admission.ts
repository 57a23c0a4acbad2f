import { LRUCache } from 'lru-cache'
import { OutgoingRequestError } from './errors.js'

/** Most requests at a time, to all origins together. */
export const REQUESTS_AT_A_TIME_MAX = 500

/** Most of these to origins that have not answered well lately: the rest is kept for those that have. */
export const REQUESTS_TO_STRANGERS_MAX = 400

/** Most requests at a time to an origin that has not answered well lately. */
export const REQUESTS_TO_STRANGER_MAX = 16

/** Most requests at a time to an origin that has. */
export const REQUESTS_TO_ACQUAINTANCE_MAX = 64

/** Most origins whose good answers are remembered. */
const ACQUAINTANCES_MAX = 1_000

/** How long a good answer is remembered, in milliseconds. */
const ACQUAINTANCE_LIFETIME_MS = 600_000

/** How a request ended, as far as the next ones to its origin depend on it. `given up`: by whoever asked. */
export type Ending = 'answered' | 'not answered' | 'given up'

/**
 * Decides which requests may be sent, so that hosts that answer slowly or never take neither all places nor those of hosts
 * that do answer. What cannot be sent now fails at once: nothing waits in line.
 */
export class Admission {
  readonly #running = new Map<string, number>()
  readonly #acquaintances = new LRUCache<string, true>({
    max: ACQUAINTANCES_MAX,
    ttl: ACQUAINTANCE_LIFETIME_MS
  })
  #total = 0
  #toStrangers = 0

  /**
   * Takes a place for a request.
   *
   * @returns gives the place back; to be called once
   * @throws OutgoingRequestError with reason `busy`
   */
  enter(origin: string): (ending: Ending) => void {
    const isStranger = !this.#acquaintances.has(origin)
    const running = this.#running.get(origin) ?? 0
    const isFull =
      this.#total >= REQUESTS_AT_A_TIME_MAX ||
      (isStranger && this.#toStrangers >= REQUESTS_TO_STRANGERS_MAX) ||
      running >= (isStranger ? REQUESTS_TO_STRANGER_MAX : REQUESTS_TO_ACQUAINTANCE_MAX)
    if (isFull) throw new OutgoingRequestError({ reason: 'busy', message: 'Too many requests at a time' })
    this.#running.set(origin, running + 1)
    this.#total += 1
    if (isStranger) this.#toStrangers += 1
    return (ending) => {
      this.#leave(origin)
      this.#total -= 1
      if (isStranger) this.#toStrangers -= 1
      if (ending === 'answered') this.#acquaintances.set(origin, true)
      if (ending === 'not answered') this.#acquaintances.delete(origin)
    }
  }

  #leave(origin: string): void {
    const left = (this.#running.get(origin) ?? 0) - 1
    if (left > 0) this.#running.set(origin, left)
    else this.#running.delete(origin)
  }
}
