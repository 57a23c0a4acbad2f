/** See {@link OutgoingRequestErrorReason}. */
export const OUTGOING_REQUEST_ERROR_REASONS = [
  'url',
  'address',
  'timeout',
  'too-large',
  'status',
  'content-type',
  'malformed',
  'network',
  'busy'
] as const

/**
 * Why a request came to nothing:
 * - `url`: the URL is not one that may be fetched
 * - `address`: the host is, or resolves to, an address that is not on the public internet
 * - `timeout`: not answered in full within the time limit
 * - `too-large`: headers or body are over their limits
 * - `status`: the answer is not a success; redirects are not followed
 * - `content-type`: the answer is not JSON, or is compressed
 * - `malformed`: the answer is not HTTP, or its body is not a JSON text in UTF-8
 * - `network`: no connection, or it broke
 * - `busy`: too many requests at a time already; nothing was tried, and it may be tried again in a moment
 */
export type OutgoingRequestErrorReason = (typeof OUTGOING_REQUEST_ERROR_REASONS)[number]

/**
 * An outgoing request that came to nothing. The message names neither addresses nor ports. Still, do not tell a stranger
 * the reason apart: `address` and `network` together would let one map which names this network knows.
 */
export class OutgoingRequestError extends Error {
  override readonly name = 'OutgoingRequestError'
  readonly reason: OutgoingRequestErrorReason
  /** Status of the answer, where there was one. */
  readonly status: number | undefined

  /** @param options.cause what happened underneath, for the log */
  constructor(options: {
    reason: OutgoingRequestErrorReason
    message: string
    status?: number
    cause?: unknown
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = options.reason
    this.status = options.status
  }
}
