import { isTransient } from '@open-payments-server/database'
import {
  NoAnswer,
  type PublicError,
  refusalAnswer,
  serviceUnavailable
} from '@open-payments-server/http-server'
import { SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import { type RefusedBecause, RequestRefused, ResultUnknown } from '../domain/errors.js'
import { AuthServerUnavailable } from '../domain/ports.js'

/** The HTTP answer for each refusal. The code is a status as a string. */
export const ANSWERS: Readonly<Record<RefusedBecause, readonly [status: number, code: `${number}`]>> = {
  'invalid-field': [400, '400'],
  'unknown-format': [415, '400'],
  'invalid-token': [401, '401'],
  'inactive-token': [403, '403'],
  'invalid-signature': [401, '401'],
  'insufficient-grant': [403, '403'],
  'over-limits': [403, '403'],
  'not-found': [404, '404'],
  frozen: [403, '403'],
  conflict: [409, '409'],
  'not-payable': [400, '400'],
  'different-request': [422, '422'],
  'too-many-requests': [429, '429'],
  unavailable: [503, '503'],
  'rates-unavailable': [503, '503']
}

/**
 * The answer to an error: a refusal by the table, 503 while something that is needed does not answer, and none while nobody
 * knows the true one.
 *
 * @returns undefined for a defect
 */
export function answerOf(error: unknown): PublicError | NoAnswer | undefined {
  if (error instanceof RequestRefused || error instanceof CommonRefusal) {
    return refusalAnswer(error, ...ANSWERS[error.because])
  }
  if (error instanceof ResultUnknown) {
    const { message, paymentId, cause } = error
    return new NoAnswer(message, { fields: { paymentId }, cause })
  }
  const passesByItself =
    isTransient(error) || error instanceof AuthServerUnavailable || error instanceof SharedStoreUnavailable
  return passesByItself ? serviceUnavailable('503', error) : undefined
}
