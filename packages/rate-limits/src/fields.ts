import { serializeItem } from 'structured-headers'
import type { Count, RateLimit } from './counter.js'

// The fields of draft-ietf-httpapi-ratelimit-headers-10: lists of items, each the name of a policy with its parameters.

const MS_PER_SECOND = 1_000

/** An item of `RateLimit-Policy`: so many requests within so many seconds. */
export function policyItem(name: string, { points, durationSeconds }: RateLimit): string {
  return serializeItem(
    name,
    new Map([
      ['q', points],
      ['w', durationSeconds]
    ])
  )
}

/** An item of `RateLimit`: so many requests left, and the seconds until the window ends. */
export function limitItem(name: string, count: Count): string {
  return serializeItem(
    name,
    new Map([
      ['r', count.remaining],
      ['t', secondsUntilReset(count)]
    ])
  )
}

/** When to come again: never less than a second from now. */
export function secondsUntilReset({ resetMs }: Pick<Count, 'resetMs'>): number {
  return Math.max(1, Math.ceil(resetMs / MS_PER_SECOND))
}
