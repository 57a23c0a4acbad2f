import { LRUCache } from 'lru-cache'
import { OutgoingRequestError } from './errors.js'

/** Maximum number of concurrent requests, to all hosts together. */
export const REQUESTS_AT_A_TIME_MAX = 500

/** Maximum of these to hosts that are not our own. */
export const REQUESTS_TO_OTHERS_MAX = 450

/** Maximum of these to hosts that are not vouched for. */
export const REQUESTS_TO_STRANGERS_MAX = 400

/** Maximum number of concurrent requests to one host that is not vouched for. */
export const REQUESTS_TO_STRANGER_MAX = 16

/** Maximum number of concurrent requests to any other host. */
export const REQUESTS_TO_KNOWN_HOST_MAX = 64

/**
 * Maximum number of hosts that are remembered as vouched for. Beyond it, the least recently vouched-for host is dropped:
 * with 6,000 requests per minute, one address needs a quarter of an hour for that.
 */
const VOUCHED_FOR_MAX = 100_000

/** How long it is remembered, in milliseconds. */
const VOUCHED_FOR_LIFETIME_MS = 3_600_000

/** The result of a request, as far as later requests to its origin depend on it. `given up`: its caller aborted it. */
export type Ending = 'answered' | 'not answered' | 'given up'

/** The standing of a host: unknown, vouched for by what it did, or our own. */
type Standing = 'stranger' | 'vouched for' | 'own'

/** Shares of all slots: each is for requests to hosts of these standings. */
const SHARES: readonly { readonly standings: readonly Standing[]; readonly max: number }[] = [
  { standings: ['stranger'], max: REQUESTS_TO_STRANGERS_MAX },
  { standings: ['stranger', 'vouched for'], max: REQUESTS_TO_OTHERS_MAX },
  { standings: ['stranger', 'vouched for', 'own'], max: REQUESTS_AT_A_TIME_MAX }
]

/**
 * Decides which requests may be sent, so that hosts that answer slowly or never cannot take all slots, nor those of known
 * hosts. That a host answers does not make it known: anyone can have any number of names that do. What cannot be sent now
 * fails at once: there is no queue.
 */
export class Admission {
  readonly #ownOrigins: ReadonlySet<string>
  readonly #running = new Map<string, number>()
  // By size, because a cache with a maximum number of entries allocates them all at once.
  readonly #vouchedFor = new LRUCache<string, true>({
    maxSize: VOUCHED_FOR_MAX,
    sizeCalculation: () => 1,
    ttl: VOUCHED_FOR_LIFETIME_MS
  })
  readonly #places: Record<Standing, number> = { stranger: 0, 'vouched for': 0, own: 0 }

  /** @param ownOrigins origins that always have slots */
  constructor(ownOrigins: Iterable<string> = []) {
    this.#ownOrigins = new Set(ownOrigins)
  }

  /** Marks an origin as vouched for, for an hour or until a request to it is not answered. */
  vouchFor(origin: string): void {
    this.#vouchedFor.set(origin, true)
  }

  /**
   * Takes a slot for a request.
   *
   * @returns returns the slot; to be called once
   * @throws OutgoingRequestError with reason `busy`
   */
  enter(origin: string): (ending: Ending) => void {
    const standing = this.#standingOf(origin)
    const running = this.#running.get(origin) ?? 0
    if (this.#isFull(standing, running)) {
      throw new OutgoingRequestError({ reason: 'busy', message: 'Too many requests at a time' })
    }
    this.#running.set(origin, running + 1)
    this.#places[standing] += 1
    return (ending) => {
      this.#leave(origin)
      this.#places[standing] -= 1
      if (ending === 'not answered') this.#vouchedFor.delete(origin)
    }
  }

  #standingOf(origin: string): Standing {
    if (this.#ownOrigins.has(origin)) return 'own'
    return this.#vouchedFor.has(origin) ? 'vouched for' : 'stranger'
  }

  #isFull(standing: Standing, running: number): boolean {
    if (running >= (standing === 'stranger' ? REQUESTS_TO_STRANGER_MAX : REQUESTS_TO_KNOWN_HOST_MAX))
      return true
    return SHARES.some(({ standings, max }) => {
      const taken = standings.reduce((sum, each) => sum + this.#places[each], 0)
      return standings.includes(standing) && taken >= max
    })
  }

  #leave(origin: string): void {
    const left = (this.#running.get(origin) ?? 0) - 1
    if (left > 0) this.#running.set(origin, left)
    else this.#running.delete(origin)
  }
}
