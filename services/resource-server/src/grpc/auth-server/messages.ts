import { isRpcError, status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { type Amount, formatAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import { AuthServerUnavailable } from '../../domain/ports.js'

/**
 * Codes that are no answer: it is not known whether the auth server did what it was asked, or it does not let this service
 * ask, which its operators must mend and clients can only wait for.
 */
const UNANSWERED: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.INTERNAL,
  status.UNKNOWN,
  status.ABORTED,
  status.RESOURCE_EXHAUSTED,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED
])

/**
 * What a failed call means here.
 *
 * @returns AuthServerUnavailable when the auth server did not answer; any other error as it is
 */
export function failureOf(error: unknown): unknown {
  return isRpcError(error) && UNANSWERED.has(error.code) ? new AuthServerUnavailable(error) : error
}

/** An amount as it travels over gRPC. */
export function toAmountMessage(amount: Amount): auth.Amount {
  return formatAmount(amount)
}

/**
 * An amount from the auth server.
 *
 * @throws AmountError when it is none, which would be a defect of the auth server
 */
export function fromAmountMessage(message: auth.Amount): Amount {
  return parseAmount(message)
}
