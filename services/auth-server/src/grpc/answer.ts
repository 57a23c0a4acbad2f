import { RpcError, status } from '@open-payments-server/grpc-transport'
import { answering } from '@open-payments-server/service-kit/grpc'
import { CallRefused, type CallRefusedBecause } from '../domain/call-refused.js'

/** The gRPC status of each refusal. */
export const CODES: Readonly<Record<CallRefusedBecause, status>> = {
  invalid: status.INVALID_ARGUMENT,
  'not-found': status.NOT_FOUND,
  'different-request': status.ALREADY_EXISTS,
  'other-amounts': status.ABORTED,
  'ended-otherwise': status.FAILED_PRECONDITION,
  'not-restorable': status.FAILED_PRECONDITION,
  'inactive-token': status.FAILED_PRECONDITION,
  'grant-ended': status.FAILED_PRECONDITION,
  'consent-of-another': status.PERMISSION_DENIED,
  'another-freeze': status.FAILED_PRECONDITION,
  'issuer-unavailable': status.UNAVAILABLE,
  untold: status.UNAVAILABLE
}

/** A handler whose refusals become the errors of the contract, with the field named. */
export const answer = answering((error) => (error instanceof CallRefused ? rpcErrorOf(error) : undefined))

/** The error of the contract for a refusal. */
export function rpcErrorOf({ because, message, field, cause }: CallRefused): RpcError {
  return new RpcError({ code: CODES[because], message, field, cause })
}
