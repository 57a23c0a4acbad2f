import { isTransient } from '@open-payments-server/database'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { CallRefused, type CallRefusedBecause } from '../domain/call-refused.js'

/** The gRPC status of each refusal. */
const CODES: Readonly<Record<CallRefusedBecause, status>> = {
  invalid: status.INVALID_ARGUMENT,
  'not-found': status.NOT_FOUND,
  'different-request': status.ALREADY_EXISTS,
  'other-amounts': status.ABORTED,
  'ended-otherwise': status.FAILED_PRECONDITION,
  'inactive-token': status.FAILED_PRECONDITION,
  untold: status.UNAVAILABLE
}

/**
 * A handler whose refusals become the errors of the contract, with the field named, and that answers UNAVAILABLE when the
 * database could not be reached, or gave up on a statement: every call is idempotent, and callers retry what is
 * unavailable.
 */
export function answer<Parameters extends readonly unknown[], Result>(
  handler: (...parameters: Parameters) => Promise<Result>
): (...parameters: Parameters) => Promise<Result> {
  return async (...parameters) => {
    try {
      return await handler(...parameters)
    } catch (error) {
      if (error instanceof CallRefused) throw rpcErrorOf(error)
      if (!isTransient(error)) throw error
      throw new RpcError({ code: status.UNAVAILABLE, message: 'Service unavailable', cause: error })
    }
  }
}

/** The error of the contract for a refusal. */
export function rpcErrorOf({ because, message, field, cause }: CallRefused): RpcError {
  return new RpcError({ code: CODES[because], message, field, cause })
}
