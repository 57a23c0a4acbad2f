import { Refusal } from '@open-payments-server/runtime'

/** Why an operator's call was refused. What a reason is in gRPC stands in `grpc/operator/answer.ts`. */
export type OperationRefusedBecause =
  /** What it names does not exist. */
  | 'not-found'
  /** What it would create exists, with other content. */
  | 'already-exists'
  /** A field is malformed. */
  | 'invalid'
  /** The state of things does not allow it now. */
  | 'not-possible'

/** An operator's call that was refused, and changed nothing. The message is for the operator. */
export class OperationRefused extends Refusal {
  override readonly name = 'OperationRefused'

  /** @param field the field at fault, in the terms of the contract: `account_name` */
  constructor(
    override readonly because: OperationRefusedBecause,
    readonly field: string,
    message: string
  ) {
    super(because, message)
  }
}
