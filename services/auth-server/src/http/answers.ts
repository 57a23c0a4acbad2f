import { isTransient } from '@open-payments-server/database'
import { PublicError, serviceUnavailable } from '@open-payments-server/http-server'
import { Refusal } from '@open-payments-server/value-types/refusals'
import { SharedStoreUnavailable } from '@open-payments-server/shared-store'
import type { RefusedBecause } from '../domain/errors.js'

/** Error code for answers that are unrelated to the request. */
export const UNAVAILABLE_CODE = 'request_denied'

/** Error codes of the auth server (RFC 9635 §3.6, and the codes that Open Payments adds). */
type GnapErrorCode =
  | 'invalid_client'
  | 'invalid_request'
  | 'invalid_continuation'
  | 'invalid_rotation'
  | 'invalid_interaction'
  | 'unknown_interaction'
  | 'request_denied'
  | 'too_many_attempts'
  | 'too_fast'
  | 'user_denied'

/** The HTTP answer for each refusal. */
const ANSWERS: Readonly<Record<RefusedBecause, readonly [status: number, code: GnapErrorCode]>> = {
  'invalid-field': [400, 'invalid_request'],
  'invalid-signature': [401, 'invalid_client'],
  'unresolved-client': [400, 'invalid_client'],
  'unknown-token': [401, 'invalid_client'],
  'unknown-continuation': [401, 'invalid_continuation'],
  'wrong-reference': [404, 'invalid_continuation'],
  'too-fast': [400, 'too_fast'],
  'not-continuable': [401, 'request_denied'],
  'user-denied': [401, 'user_denied'],
  'not-rotatable': [404, 'invalid_rotation'],
  'unknown-interaction': [404, 'unknown_interaction'],
  'interaction-decided': [400, 'invalid_interaction'],
  'interaction-not-active': [401, 'invalid_interaction'],
  'interaction-not-startable': [403, 'invalid_interaction'],
  'invalid-session': [401, 'invalid_request'],
  'directory-busy': [503, 'request_denied'],
  'too-many-requests': [429, 'too_many_attempts']
}

/**
 * The answer to an error: a refusal by the table, 503 for temporary errors.
 *
 * @returns undefined for a defect
 */
export function answerOf(error: unknown): PublicError | undefined {
  if (error instanceof Refusal) {
    const { message: description, details, retryAfterSeconds, cause } = error
    const because = error.because as RefusedBecause // nothing else is thrown here
    if (because === 'directory-busy') return serviceUnavailable(UNAVAILABLE_CODE, cause)
    const [status, code] = ANSWERS[because]
    return new PublicError({
      status,
      code,
      description,
      cause,
      ...(details === undefined ? {} : { details }),
      ...(retryAfterSeconds === undefined ? {} : { headers: { 'Retry-After': String(retryAfterSeconds) } })
    })
  }
  const passesByItself = isTransient(error) || error instanceof SharedStoreUnavailable
  return passesByItself ? serviceUnavailable(UNAVAILABLE_CODE, error) : undefined
}
