import { PublicError } from '@open-payments-server/http-server'

/** Error codes of the auth server (RFC 9635 §3.6, and the codes that Open Payments adds). */
export type GnapErrorCode =
  | 'invalid_client'
  | 'invalid_request'
  | 'invalid_continuation'
  | 'invalid_rotation'
  | 'invalid_interaction'
  | 'unknown_interaction'
  | 'request_denied'
  | 'too_fast'
  | 'user_denied'

function gnapError(status: number, code: GnapErrorCode, description: string, cause?: unknown): PublicError {
  return new PublicError({ status, code, description, cause })
}

/** 401: the signature is missing, malformed, stale, used before, or does not verify. */
export function invalidSignature(reason: string, cause?: unknown): PublicError {
  return gnapError(401, 'invalid_client', `invalid signature: ${reason}`, cause)
}

/** 400: the client or its key cannot be resolved, or it identified itself in a way that the request does not allow. */
export function unresolvedClient(reason: string, cause?: unknown): PublicError {
  return gnapError(400, 'invalid_client', reason, cause)
}

/** 401: unknown token management id, wrong token for it, or a key of somebody else: nobody is told which. */
export function invalidToken(): PublicError {
  return gnapError(401, 'invalid_client', 'unknown token, or not signed by the client that holds it')
}

/** 401: unknown continuation id, wrong continuation token, or a key of somebody else: nobody is told which. */
export function invalidContinuation(): PublicError {
  return gnapError(
    401,
    'invalid_continuation',
    'unknown grant, wrong continuation token, or not signed by the client that holds the grant'
  )
}

/** 404: wrong `interact_ref`. */
export function wrongInteractionReference(): PublicError {
  return gnapError(404, 'invalid_continuation', 'unknown interaction reference')
}

/** 400: called before `wait` has passed (RFC 9635 §5). */
export function tooFast(): PublicError {
  return gnapError(400, 'too_fast', 'the wait time has not passed yet')
}

/** 401: the grant is in no state to be continued. */
export function requestDenied(description: string): PublicError {
  return gnapError(401, 'request_denied', description)
}

/**
 * 401: the account holder declined.
 *
 * @param reason the account holder's reason, if one was given
 */
export function userDenied(reason?: string): PublicError {
  return gnapError(401, 'user_denied', reason ?? 'the account holder declined')
}

/** 404: the token is revoked already, or another rotation of it won. */
export function invalidRotation(): PublicError {
  return gnapError(404, 'invalid_rotation', 'the token cannot be rotated')
}

/** The interaction is unknown, over, or its grant is. */
export function unknownInteraction(status: 400 | 404): PublicError {
  return gnapError(status, 'unknown_interaction', 'unknown interaction')
}

/** The interaction is not in a state for this. */
export function invalidInteraction(status: 400 | 401 | 403, description: string): PublicError {
  return gnapError(status, 'invalid_interaction', description)
}

/** How an interaction ended, for the browser that had its part in it. */
export type InteractionEnd = 'accepted' | 'declined' | 'expired'

/** 403: the interaction is over. Only the browser in which it ended so is told how, in `details.interaction`. */
export function interactionOver(end: InteractionEnd | undefined): PublicError {
  const description = 'the interaction is over'
  return end === undefined
    ? invalidInteraction(403, description)
    : new PublicError({
        status: 403,
        code: 'invalid_interaction' satisfies GnapErrorCode,
        description: `${description}: it was ${end === 'expired' ? 'not answered in time' : end}`,
        details: { interaction: end }
      })
}
