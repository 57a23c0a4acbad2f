import type { Count, LimitKind, RateLimit } from './counter.js'

// The fields of draft-ietf-httpapi-ratelimit-headers-10: lists of items, each the name of a policy with its parameters. Names
// are constants and values integers, so that nothing needs escaping.

const MS_PER_SECOND = 1_000

/** An item of `RateLimit-Policy`: a number of requests within a number of seconds. */
export function policyItem(kind: LimitKind, { points, durationSeconds }: RateLimit): string {
  return `"${kind}";q=${String(points)};w=${String(durationSeconds)}`
}

/** An item of `RateLimit`: the number of requests left, and the seconds until the window ends. */
export function limitItem(kind: LimitKind, count: Count): string {
  return `"${kind}";r=${String(count.remaining)};t=${String(secondsUntilReset(count))}`
}

/** When to retry: at least a second from now. */
export function secondsUntilReset({ resetMs }: Pick<Count, 'resetMs'>): number {
  return Math.max(1, Math.ceil(resetMs / MS_PER_SECOND))
}
