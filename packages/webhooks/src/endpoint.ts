/** Why an endpoint gets nothing any more. */
export const DISABLED_CAUSES = ['operator', 'gone', 'failing'] as const

/**
 * Why an endpoint gets nothing any more:
 * - `operator`: an operator disabled it
 * - `gone`: it answered 410
 * - `failing`: it took nothing for three days
 */
export type DisabledCause = (typeof DISABLED_CAUSES)[number]

/** What an operator decides about an endpoint. */
export interface EndpointSettings {
  /** Where events are posted. */
  readonly url: string
  /** Only events of these types; all when empty. */
  readonly types: readonly string[]
  /** Only events that concern this wallet address; undefined for all. */
  readonly walletAddress: string | undefined
}

/** An endpoint, as operators see it. */
export interface WebhookEndpoint extends EndpointSettings {
  /** Id (UUID). */
  readonly id: string
  readonly createdAtMs: number
  readonly disabled: { readonly cause: DisabledCause; readonly atMs: number } | undefined
  /** Since when every attempt failed; undefined unless the last one did. */
  readonly failingSinceMs: number | undefined
  /** Number of events that it must still get: failed, and those of the same subjects behind them. Later ones are not counted. */
  readonly undeliveredCount: number
  /** Number of events that were tried for three days, and no longer are. */
  readonly givenUpCount: number
}

/** Why an attempt failed. */
export const ATTEMPT_FAILURES = [
  'status',
  'redirect',
  'timeout',
  'network',
  'address',
  'too-large',
  'malformed'
] as const

/**
 * Why an attempt failed:
 * - `status`: the answer was not 2xx
 * - `redirect`: the answer was 3xx, which is not followed
 * - `timeout`: no answer in time
 * - `network`: no connection, or it broke
 * - `address`: the host is, or resolves to, an address that is not allowed
 * - `too-large`: the headers of the answer are too large
 * - `malformed`: the answer is not HTTP
 */
export type AttemptFailure = (typeof ATTEMPT_FAILURES)[number]

/** One attempt to deliver an event. */
export interface WebhookAttempt {
  readonly eventId: string
  readonly eventType: string
  readonly attemptedAtMs: number
  /** Until the status was known, or the attempt failed. */
  readonly durationMs: number
  /** Status of the answer; undefined when there was none. */
  readonly status: number | undefined
  /** Undefined when it was delivered. */
  readonly failure: AttemptFailure | undefined
}
