import type { Clock } from '@open-payments-server/runtime'
import { LRUCache } from 'lru-cache'
import type { Count, Counter, RateLimit } from './counter.js'

/** Most keys that are counted at once, for each limit: about 25 MB. The one that was silent longest is forgotten first. */
export const KEYS_MAX = 100_000

interface Window {
  readonly startedAtMs: number
  count: number
}

/** Counts in this process alone, in bounded memory. */
export function createInProcessCounter(limit: RateLimit, clock: Clock): Counter {
  const windows = new LRUCache<string, Window>({ max: KEYS_MAX })
  const durationMs = limit.durationSeconds * 1_000

  const windowOf = (key: string, nowMs: number): Window => {
    const window = windows.get(key)
    // Before its beginning stands a clock that was set back: nobody may have to wait for that.
    const isOpen =
      window !== undefined && window.startedAtMs <= nowMs && nowMs < window.startedAtMs + durationMs
    if (isOpen) return window
    const next = { startedAtMs: nowMs, count: 0 }
    windows.set(key, next)
    return next
  }

  return {
    count(key): Promise<Count> {
      const nowMs = clock.now()
      const window = windowOf(key, nowMs)
      window.count += 1
      return Promise.resolve({
        isOver: window.count > limit.points,
        remaining: Math.max(0, limit.points - window.count),
        resetMs: window.startedAtMs + durationMs - nowMs
      })
    }
  }
}
