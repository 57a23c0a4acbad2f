import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'
import type { Count, LimitKind, RateLimit } from './counter.js'
import { policyItem } from './fields.js'

/** Maximum number of keys counted at once, for each limit: about 25 MB. The least recently used is dropped first. */
export const KEYS_MAX = 100_000

/** Maximum length of a key that is kept as it is, in characters; longer ones are hashed, so that memory is bounded. */
const KEY_LENGTH_MAX = 128

/** How often something happened within one window of time, as far as this process knows. */
export interface Window {
  readonly limited: LimitedKind
  readonly key: string
  readonly fromMs: number
  untilMs: number
  /** By all replicas. */
  count: number
  /** The part that was counted here and not yet sent to the others. */
  untold: number
}

/** Observes windows, so that replicas count together. */
export interface WindowObserver {
  /** Another request was counted. */
  counted(window: Window): void
  /** It has ended, or was dropped. */
  closed(window: Window): void
}

/**
 * One kind of limit, and its windows. A key over its limit is not counted any further, and costs nothing until the window
 * ends.
 */
export class LimitedKind {
  readonly kind: LimitKind
  readonly limit: RateLimit
  /** Its item of `RateLimit-Policy`. */
  readonly policy: string
  readonly #observer: WindowObserver | undefined
  readonly #windows: LRUCache<string, Window>

  /** @param observer undefined if this process counts alone */
  constructor(kind: LimitKind, limit: RateLimit, observer: WindowObserver | undefined) {
    this.kind = kind
    this.limit = limit
    this.policy = policyItem(kind, limit)
    this.#observer = observer
    // By size, because a cache with a maximum number of entries allocates them all at once.
    this.#windows = new LRUCache({
      maxSize: KEYS_MAX,
      sizeCalculation: () => 1,
      dispose: (window) => observer?.closed(window)
    })
  }

  /** Counts once more. */
  count(key: string, nowMs: number): Count {
    const window = this.#findOpen(key, nowMs) ?? this.#open(key, nowMs)
    window.count += 1
    window.untold += 1
    this.#observer?.counted(window)
    return this.#tell(window, nowMs)
  }

  /** The state of a key that is known to be over its limit; undefined when it has to be counted. */
  findRefused(key: string, nowMs: number): Count | undefined {
    const window = this.#findOpen(key, nowMs)
    return window === undefined || window.count <= this.limit.points ? undefined : this.#tell(window, nowMs)
  }

  #findOpen(key: string, nowMs: number): Window | undefined {
    const window = this.#windows.get(nameOf(key))
    // A time before its beginning means that the clock was set back, which must not delay anyone.
    return window !== undefined && window.fromMs <= nowMs && nowMs < window.untilMs ? window : undefined
  }

  #open(key: string, nowMs: number): Window {
    const name = nameOf(key)
    const untilMs = nowMs + this.limit.durationSeconds * 1_000
    const window = { limited: this, key: name, fromMs: nowMs, untilMs, count: 0, untold: 0 }
    this.#windows.set(name, window)
    return window
  }

  #tell({ count, untilMs }: Window, nowMs: number): Count {
    const { points } = this.limit
    return { isOver: count > points, remaining: Math.max(0, points - count), resetMs: untilMs - nowMs }
  }
}

function nameOf(key: string): string {
  return key.length <= KEY_LENGTH_MAX ? key : hashSecret(key).toString('base64url')
}
