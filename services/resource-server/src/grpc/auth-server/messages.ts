import { isRpcError, status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { type Amount, formatAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import { AuthServerUnavailable } from '../../domain/ports.js'

/**
 * Codes that are not an answer: it is unknown whether the auth server did what was requested, or it does not let this
 * service call, which its operators must fix and clients can only wait for.
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
 * Maps a failed call.
 *
 * @returns AuthServerUnavailable when the auth server did not answer; any other error unchanged
 */
export function failureOf(error: unknown): unknown {
  return isRpcError(error) && UNANSWERED.has(error.code) ? new AuthServerUnavailable(error) : error
}

/** An amount on the wire. */
export function toAmountMessage(amount: Amount): auth.Amount {
  return formatAmount(amount)
}

/**
 * An amount from the auth server.
 *
 * @throws AmountError when it is not an amount, which would be a defect of the auth server
 */
export function fromAmountMessage(message: auth.Amount): Amount {
  return parseAmount(message)
}
