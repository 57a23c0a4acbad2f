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

/**
 * An operator's call was refused and changed nothing. The message is for the operator, who may know the field by another name:
 * only {@link invalidCallField} mentions it.
 */
export class CallRefused extends FieldRefusal<CallRefusedBecause> {
  override readonly name = 'CallRefused'
}

/**
 * The refusal of a malformed field.
 *
 * @param field the field at fault, in the terms of the contract: `account_name`
 * @param problem what is wrong with it, without its name: `must be at most 1000`
 */
export function invalidCallField(field: string, problem: string): CallRefused {
  return new CallRefused('invalid', `${field} ${problem}`, { field })
}
