import { type CommonReason, Refusal, type RefusalOptions } from '@open-payments-server/value-types/refusals'

export { invalidField } from '@open-payments-server/value-types/refusals'

/** Why something is refused. `http/answers.ts` maps reasons to HTTP. */
export type RefusedBecause =
  | CommonReason
  /** The signature is missing, malformed, stale, used before, or does not verify. */
  | 'invalid-signature'
  /** The client or its key cannot be resolved, or the request does not allow the way the client identified itself. */
  | 'unresolved-client'
  /** Unknown token management id, wrong token, or another client's key: the answer does not say which. */
  | 'unknown-token'
  /** Unknown continuation id, wrong continuation token, or another client's key: the answer does not say which. */
  | 'unknown-continuation'
  /** Wrong `interact_ref`. */
  | 'wrong-reference'
  /** Called before `wait` has passed (RFC 9635 §5). */
  | 'too-fast'
  /** The grant is in no state to be continued. */
  | 'not-continuable'
  /** An operator froze the client. */
  | 'client-frozen'
  /** The account holder declined. */
  | 'user-denied'
  /** The token is revoked already, or another rotation of it won. */
  | 'not-rotatable'
  /** The interaction is unknown. */
  | 'unknown-interaction'
  /** The account holder can no longer decide. */
  | 'interaction-decided'
  /** There is nothing to finish, and no client to notify. */
  | 'interaction-not-active'
  /** The interaction has ended, or began in another browser. */
  | 'interaction-not-startable'
  /** The browser does not belong to the interaction. */
  | 'invalid-session'
  /** There is no such choice: an interaction is accepted or rejected. */
  | 'unknown-choice'
  /** Whoever asks about an interaction does not know the identity provider's secret. */
  | 'unknown-reader'
  /** Whoever decides an interaction does not know the identity provider's secret. */
  | 'unknown-decider'
  /** The keys of the issuer of an ID token cannot be had. */
  | 'issuer-unavailable'
  /** Nobody can tell now what a host publishes. */
  | 'host-unavailable'
  /** Too many fetches are running, or one document was fetched too often. */
  | 'directory-busy'

/** A request of a client, of a browser or of the identity provider was refused. */
export class RequestRefused extends Refusal<RefusedBecause> {}

function refusal(because: RefusedBecause, description: string, options?: RefusalOptions): Error {
  return new RequestRefused(because, description, options)
}

/** The signature is missing or not valid. */
export function invalidSignature(reason: string, cause?: unknown): Error {
  return refusal('invalid-signature', `invalid signature: ${reason}`, { cause })
}

/** The client or its key cannot be resolved. */
export function unresolvedClient(reason: string, cause?: unknown): Error {
  return refusal('unresolved-client', reason, { cause })
}

/** Not a token of this client's. */
export function invalidToken(): Error {
  return refusal('unknown-token', 'unknown token, or not signed by the client that holds it')
}

/** Not a grant of this client's. */
export function invalidContinuation(): Error {
  return refusal(
    'unknown-continuation',
    'unknown grant, wrong continuation token, or not signed by the client that holds the grant'
  )
}

/** Wrong `interact_ref`. */
export function wrongInteractionReference(): Error {
  return refusal('wrong-reference', 'unknown interaction reference')
}

/** Called before `wait` has passed (RFC 9635 §5). */
export function tooFast(): Error {
  return refusal('too-fast', 'the wait time has not passed yet')
}

/** The grant is in no state to be continued. */
export function requestDenied(description: string): Error {
  return refusal('not-continuable', description)
}

/** An operator froze the client. Only told to a client that proved who it is. */
export function clientFrozen(): Error {
  return refusal('client-frozen', 'the client is frozen', { details: { reason: 'client_frozen' } })
}

/**
 * The account holder declined.
 *
 * @param reason the account holder's reason, if one was given
 */
export function userDenied(reason?: string): Error {
  return refusal('user-denied', reason ?? 'the account holder declined')
}

/** The token is revoked already, or another rotation of it won. */
export function invalidRotation(): Error {
  return refusal('not-rotatable', 'the token cannot be rotated')
}

/** The interaction is unknown, or its grant was revoked. */
export function unknownInteraction(): Error {
  return refusal('unknown-interaction', 'unknown interaction')
}

/** The account holder can no longer decide. */
export function interactionDecided(): Error {
  return refusal('interaction-decided', 'invalid interaction')
}

/** How long to wait before an issuer is asked again, in seconds. */
const ISSUER_RETRY_SECONDS = 5

/** The keys of the issuer of an ID token cannot be had: nothing is accepted without them. */
export function issuerUnavailable(cause: unknown): Error {
  return refusal('issuer-unavailable', 'the issuer of the ID token cannot be asked for its keys', {
    details: { idToken: 'its issuer cannot be asked for its keys' },
    retryAfterSeconds: ISSUER_RETRY_SECONDS,
    cause
  })
}

/** How long a failed fetch is remembered, and so when a request that needed it may come again, in seconds. */
export const HOST_RETRY_SECONDS = 3

/** Nobody can tell now what a host publishes: the same request may succeed in a moment. */
export function hostUnavailable(problem: string, cause: unknown): Error {
  return refusal('host-unavailable', problem, { retryAfterSeconds: HOST_RETRY_SECONDS, cause })
}

/** There is nothing to finish, and no client to notify. */
export function interactionNotActive(): Error {
  return refusal('interaction-not-active', 'interaction is not active')
}

/** The interaction began in another browser. */
export function startedElsewhere(): Error {
  return refusal('interaction-not-startable', 'the interaction was started in another browser')
}

/** How an interaction ended, for the browser that took part in it. */
export type InteractionEnd = 'accepted' | 'declined' | 'expired'

/** The interaction has ended. Only the browser in which it ended is told how, in `details.interaction`. */
export function interactionOver(end: InteractionEnd | undefined): Error {
  const description = 'the interaction is over'
  if (end === undefined) return refusal('interaction-not-startable', description)
  return refusal(
    'interaction-not-startable',
    `${description}: it was ${end === 'expired' ? 'not answered in time' : end}`,
    { details: { interaction: end } }
  )
}

/** The browser does not belong to the interaction: one answer, whatever the reason. */
export function invalidSession(): Error {
  return refusal('invalid-session', 'invalid session')
}

/** There is no such choice: an interaction is accepted or rejected. */
export function unknownChoice(): Error {
  return refusal('unknown-choice', 'invalid interaction choice')
}

/**
 * Whoever asks about an interaction, or decides it, does not know the identity provider's secret.
 *
 * @param wants to read it, or to decide it
 */
export function unknownProvider(wants: 'read' | 'decide'): Error {
  return refusal(wants === 'read' ? 'unknown-reader' : 'unknown-decider', 'invalid x-idp-secret')
}
