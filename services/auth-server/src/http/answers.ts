import { isTransient } from '@open-payments-server/database'
import { type PublicError, refusalAnswer, serviceUnavailable } from '@open-payments-server/http-server'
import { SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import { type RefusedBecause, RequestRefused } from '../domain/errors.js'

/** Error code for answers that are unrelated to the request. */
export const UNAVAILABLE_CODE = 'request_denied'

/** Error code of requests that no route takes, or that cannot be read. */
export const BAD_REQUEST_CODE = 'invalid_request'

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
export const ANSWERS: Readonly<Record<RefusedBecause, readonly [status: number, code: GnapErrorCode]>> = {
  'invalid-field': [400, 'invalid_request'],
  'unknown-format': [415, 'invalid_request'],
  'invalid-signature': [401, 'invalid_client'],
  'unresolved-client': [400, 'invalid_client'],
  'unknown-token': [401, 'invalid_client'],
  'unknown-continuation': [401, 'invalid_continuation'],
  'wrong-reference': [404, 'invalid_continuation'],
  'too-fast': [400, 'too_fast'],
  'not-continuable': [401, 'request_denied'],
  'client-frozen': [403, 'request_denied'],
  'user-denied': [401, 'user_denied'],
  'not-rotatable': [404, 'invalid_rotation'],
  'unknown-interaction': [404, 'unknown_interaction'],
  'interaction-decided': [400, 'invalid_interaction'],
  'interaction-not-active': [401, 'invalid_interaction'],
  'interaction-not-startable': [403, 'invalid_interaction'],
  'invalid-session': [401, 'invalid_request'],
  'unknown-choice': [400, 'invalid_request'],
  // Codes of the reference implementation, which consent applications know.
  'unknown-reader': [401, 'invalid_request'],
  'unknown-decider': [401, 'invalid_interaction'],
  'issuer-unavailable': [503, UNAVAILABLE_CODE],
  'host-unavailable': [503, UNAVAILABLE_CODE],
  'directory-busy': [503, UNAVAILABLE_CODE],
  'too-many-requests': [429, 'too_many_attempts']
}

/**
 * The answer to an error: a refusal by the table, 503 for temporary errors.
 *
 * @returns undefined for a defect
 */
export function answerOf(error: unknown): PublicError | undefined {
  if (error instanceof RequestRefused || error instanceof CommonRefusal) {
    return refusalAnswer(error, ...ANSWERS[error.because])
  }
  const passesByItself = isTransient(error) || error instanceof SharedStoreUnavailable
  return passesByItself ? serviceUnavailable(UNAVAILABLE_CODE, error) : undefined
}
