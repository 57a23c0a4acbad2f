import { FieldRefusal } from '@open-payments-server/value-types/refusals'

/** Why an operator's call is refused. The transport maps each reason. */
export type CallRefusedBecause =
  /** What the call names does not exist. */
  | 'not-found'
  /** What the call would create exists with different content. */
  | 'already-exists'
  /** A field is malformed. */
  | 'invalid'
  /** The current state does not allow it. */
  | 'not-possible'

/** An operator's call was refused and changed nothing. The message is for the operator. */
export class CallRefused extends FieldRefusal<CallRefusedBecause> {
  override readonly name = 'CallRefused'
}
