import { RpcError, status } from '@open-payments-server/grpc-transport'
import { answering } from '@open-payments-server/service-kit/grpc'
import { CallRefused, type CallRefusedBecause, invalidCallField } from '../../domain/call-refused.js'

/** The gRPC status of each refusal. */
export const CODES: Readonly<Record<CallRefusedBecause, status>> = {
  'not-found': status.NOT_FOUND,
  'already-exists': status.ALREADY_EXISTS,
  invalid: status.INVALID_ARGUMENT,
  'not-possible': status.FAILED_PRECONDITION
}

/** A handler whose refusals become the errors of the contract, with the field named. */
export const answer = answering((error) => {
  if (!(error instanceof CallRefused)) return undefined
  const { because, field, message } = error
  return new RpcError({ code: CODES[because], message, field, cause: error })
})

/**
 * A required part of a request.
 *
 * @throws CallRefused `invalid` naming it
 */
export function required<Part>(part: Part | undefined, field: string): Part {
  if (part === undefined) throw invalidCallField(field, 'is required')
  return part
}
