import { FieldRefusal } from '@open-payments-server/value-types/refusals'

/** Why a call of a service or an operator is refused. The transport maps each reason. */
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
  /** A reservation cannot be recorded anew. */
  | 'not-restorable'
  /** The token is expired, rotated or revoked, or its grant has ended. */
  | 'inactive-token'
  /** The grant has ended, and nothing of it can change any more. */
  | 'grant-ended'
  /** Somebody else consented to the grant: it can only be restricted. */
  | 'consent-of-another'
  /** Another freeze of the client stands than the one that was to end. */
  | 'another-freeze'
  /** The keys of the issuer of an ID token cannot be had. */
  | 'issuer-unavailable'
  /** Not every service could be told of a revocation, or a watcher may have missed one. */
  | 'untold'

/** A call, or one of the requests of a call, was refused. The message is for the caller. */
export class CallRefused extends FieldRefusal<CallRefusedBecause> {
  override readonly name = 'CallRefused'
}

/**
 * The refusal of a field that is missing or malformed.
 *
 * @param field the field at fault, in the terms of the contract: `payment_id`
 * @param problem what is wrong with it, without its name: `must be a UUID in lower case`
 */
export function invalidCallField(field: string, problem: string): CallRefused {
  return new CallRefused('invalid', `${field} ${problem}`, { field })
}
