import { Refusal } from '@open-payments-server/value-types/refusals'

/** Why a service's or an operator's call is refused. `grpc/answer.ts` maps reasons to gRPC. */
export type CallRefusedBecause =
  /** A field is missing or malformed, or more than was reserved. */
  | 'invalid'
  /** What the call names does not exist. */
  | 'not-found'
  /** The payment id was used by another request. */
  | 'different-request'
  /** The payment id was used by the same request, which has reserved other amounts. */
  | 'other-amounts'
  /** The reservation ended otherwise. */
  | 'ended-otherwise'
  /** The token is expired, rotated or revoked, or its grant has ended. */
  | 'inactive-token'
  /** Not every service could be told of a revocation, or a watcher may have missed one. */
  | 'untold'

/** A call, or one of the requests of a call, was refused. The message is for the caller. */
export class CallRefused extends Refusal {
  override readonly name = 'CallRefused'
  /** The field at fault, in the terms of the contract: `debit_amount.value`; undefined when there is none. */
  readonly field: string | undefined

  constructor(
    override readonly because: CallRefusedBecause,
    message: string,
    { field, cause }: { readonly field?: string; readonly cause?: unknown } = {}
  ) {
    super(because, message, { cause })
    this.field = field
  }
}
