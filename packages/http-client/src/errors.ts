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

/** Reasons for which nothing is ever sent. */
const NEVER_SENT: ReadonlySet<OutgoingRequestErrorReason> = new Set(['url', 'address', 'busy'])

/**
 * A failed outgoing request. The message names neither addresses nor ports. Even so, do not reveal to a stranger which
 * reason it was: `address` and `network` together would let them map the names that this network knows.
 */
export class OutgoingRequestError extends Error {
  override readonly name = 'OutgoingRequestError'
  readonly reason: OutgoingRequestErrorReason
  /** Status of the answer, if there was one. */
  readonly status: number | undefined
  /**
   * Whether certainly nothing of the request left: the URL or its address may not be asked, too many requests, or no lookup or
   * connection before it failed or its time was over. Then it can be made again without being made twice.
   */
  readonly isUnsent: boolean

  /**
   * @param options.isUnsent true for `url`, `address` and `busy` whatever is given; otherwise false by default
   * @param options.cause what happened underneath, for the log
   */
  constructor(options: {
    reason: OutgoingRequestErrorReason
    message: string
    status?: number
    isUnsent?: boolean
    cause?: unknown
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = options.reason
    this.status = options.status
    this.isUnsent = NEVER_SENT.has(options.reason) || options.isUnsent === true
  }
}
