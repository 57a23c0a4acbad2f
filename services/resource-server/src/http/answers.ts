import { isTransient } from '@open-payments-server/database'
import { PublicError, serviceUnavailable } from '@open-payments-server/http-server'
import { Refusal } from '@open-payments-server/value-types/refusals'
import type { RefusedBecause } from '../domain/errors.js'

/** The HTTP status of each refusal. The code is the status as a string. */
const STATUSES: Readonly<Record<RefusedBecause, number>> = {
  'invalid-field': 400,
  'invalid-token': 401,
  'inactive-token': 403,
  'invalid-signature': 401,
  'insufficient-grant': 403,
  'over-limits': 403,
  'not-found': 404,
  conflict: 409,
  'not-payable': 400,
  'different-request': 422,
  'too-many-requests': 429,
  unavailable: 503,
  'rates-unavailable': 503
}

/**
 * The answer to an error: a refusal by the table, 503 for temporary errors.
 *
 * @returns undefined for a defect
 */
export function answerOf(error: unknown): PublicError | undefined {
  if (error instanceof Refusal) {
    const { message: description, details, retryAfterSeconds, cause } = error
    const because = error.because as RefusedBecause // operators' refusals are answered over gRPC
    if (because === 'unavailable') return serviceUnavailable('503', cause)
    const status = STATUSES[because]
    return new PublicError({
      status,
      code: String(status),
      description,
      cause,
      ...(details === undefined ? {} : { details }),
      ...(retryAfterSeconds === undefined ? {} : { headers: { 'Retry-After': String(retryAfterSeconds) } })
    })
  }
  return isTransient(error) ? serviceUnavailable('503', error) : undefined
}
