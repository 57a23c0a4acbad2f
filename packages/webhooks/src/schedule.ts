/** How long an event is tried, in milliseconds, from its first attempt on. */
export const TRIED_MS = 3 * 24 * 3_600_000
/** Wait after the first failed attempt, in milliseconds. Each later one is so many times as long. */
const FIRST_WAIT_MS = 5_000
const WAIT_FACTOR = 4
/** Longest wait, in milliseconds. */
const WAIT_MAX_MS = 4 * 3_600_000
/** Share of a wait that is random, so that endpoints that failed together are not tried together. */
const JITTER = 0.25
/** Longest wait that an endpoint may ask for, in milliseconds. */
const RETRY_AFTER_MAX_MS = 24 * 3_600_000

/** A failed attempt. */
export interface FailedAttempt {
  /** Number of attempts so far, this one included. */
  readonly attempts: number
  readonly firstAttemptedAtMs: number
  readonly nowMs: number
  /** How long the endpoint asked to wait. */
  readonly retryAfterMs: number | undefined
}

/**
 * When an event is tried again: after 5 seconds, 20, 80 and so on, up to 4 hours, a quarter more or less, or later if the endpoint
 * asks for it.
 *
 * @param random from 0 to below 1
 * @returns undefined when it is given up, because that would be more than three days after the first attempt
 */
export function nextAttemptAtMs(
  { attempts, firstAttemptedAtMs, nowMs, retryAfterMs = 0 }: FailedAttempt,
  random: number
): number | undefined {
  const wait = Math.min(FIRST_WAIT_MS * WAIT_FACTOR ** (attempts - 1), WAIT_MAX_MS)
  const jittered = wait * (1 - JITTER + 2 * JITTER * random)
  const nextMs = Math.round(nowMs + Math.max(jittered, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS)))
  return nextMs - firstAttemptedAtMs > TRIED_MS ? undefined : nextMs
}

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
 *
 * @returns milliseconds from now; undefined for what cannot be read
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const atMs = header.endsWith(' GMT') ? Date.parse(header) : NaN
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
