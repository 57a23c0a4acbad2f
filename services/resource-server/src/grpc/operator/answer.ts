import { isTransient } from '@open-payments-server/database'
import { RpcError, status, type UnaryContext, type UnaryHandler } from '@open-payments-server/grpc-transport'
import {
  invalidField,
  OperationRefused,
  type OperationRefusedBecause
} from '../../features/operation-refused.js'

/** The gRPC status of each refusal. */
const CODES: Readonly<Record<OperationRefusedBecause, status>> = {
  'not-found': status.NOT_FOUND,
  'already-exists': status.ALREADY_EXISTS,
  invalid: status.INVALID_ARGUMENT,
  'not-possible': status.FAILED_PRECONDITION
}

/**
 * A handler whose refusals become the errors of the contract, with the field named, and that answers UNAVAILABLE when the
 * database could not be reached, or gave up on a statement.
 */
export function answer<Request, Response>(
  handler: (request: Request, context: UnaryContext) => Promise<Response>
): UnaryHandler<Request, Response> {
  return async (request, context) => {
    try {
      return await handler(request, context)
    } catch (error) {
      throw answered(error)
    }
  }
}

function answered(error: unknown): unknown {
  if (error instanceof OperationRefused) {
    const { because, field, message } = error
    return new RpcError({ code: CODES[because], message, field, cause: error })
  }
  return isTransient(error)
    ? new RpcError({ code: status.UNAVAILABLE, message: 'Service unavailable', cause: error })
    : error
}

/**
 * A required part of a request.
 *
 * @throws OperationRefused `invalid` naming it
 */
export function required<Part>(part: Part | undefined, field: string): Part {
  if (part === undefined) throw invalidField(field, 'is required')
  return part
}
