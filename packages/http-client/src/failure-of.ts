import { errors } from 'undici'
import { OutgoingRequestError, type OutgoingRequestErrorReason } from './errors.js'

/** Maps undici's errors; the first match counts. */
const FAILURES: readonly (readonly [
  type: abstract new (...args: never[]) => Error,
  reason: OutgoingRequestErrorReason,
  message: string
])[] = [
  [errors.ConnectTimeoutError, 'timeout', 'Not answered in time'],
  [errors.HeadersTimeoutError, 'timeout', 'Not answered in time'],
  [errors.BodyTimeoutError, 'timeout', 'Not answered in time'],
  [errors.HeadersOverflowError, 'too-large', 'The headers of the answer are too large'],
  [errors.HTTPParserError, 'malformed', 'The answer is not HTTP']
]

/**
 * The failure of a request that undici reports.
 *
 * @param isUnsent whether certainly nothing of the request left
 */
export function failureOf(error: unknown, isUnsent: boolean): OutgoingRequestError {
  if (error instanceof OutgoingRequestError) return error
  const [, reason, message] = FAILURES.find(([type]) => error instanceof type) ?? [
    undefined,
    'network' as const,
    'No connection, or it broke'
  ]
  return new OutgoingRequestError({ reason, message, isUnsent, cause: error })
}
