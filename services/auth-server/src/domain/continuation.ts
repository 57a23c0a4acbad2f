import type { AccessItem } from './access.js'
import type { BoundClient } from './clients.js'
import type { GrantState, SubjectRequest } from './grants.js'

/** A grant, with the fields that a continuation depends on. */
export interface ContinuedGrant {
  readonly id: string
  readonly state: GrantState
  readonly holder: BoundClient
  readonly access: readonly AccessItem[]
  readonly subject: SubjectRequest | undefined
  /** Whether the client requested a notification at the end of the interaction (`finish`). */
  readonly hasFinish: boolean
  /** Time before which it must not be continued; undefined when there is none. */
  readonly continueAfterMs: number | undefined
  /** Time by which an approved grant must be continued; undefined in every other state. */
  readonly continueBeforeMs: number | undefined
  /** The account holder's reason for declining, if one was given. */
  readonly rejectionReason: string | undefined
  /** Undefined for a grant that was issued without one. */
  readonly interaction: { readonly reference: string; readonly expiresAtMs: number } | undefined
  /** The presented continuation token, which is the right one. */
  readonly continuationToken: string
  /** Whether the token holder is frozen. */
  readonly clientFrozen: boolean
}

/** The result of a continuation. */
export type ContinuationDecision =
  /** The account holder consented, and the grant can be issued. */
  | 'issue'
  /** The account holder has not decided; the client may poll again. */
  | 'wait'
  /** Issued already, cancelled, or revoked. */
  | 'over'
  | 'rejected'
  /** An operator froze the client. */
  | 'client-frozen'
  /** The account holder did not answer in time. */
  | 'expired'
  /** The account holder consented, and the client did not continue in time. */
  | 'too-late'
  | 'wrong-reference'
  | 'too-fast'
  /** The account holder has not decided, and the client will be notified. */
  | 'unfinished'
  /** The client was sent a reference and must present it. */
  | 'reference-missing'

/**
 * Decides a continuation (RFC 9635 §5).
 *
 * @param interactionReference `interact_ref` of the request; undefined when it has none
 */
export function decideContinuation(
  grant: ContinuedGrant,
  interactionReference: { readonly isRight: boolean } | undefined,
  nowMs: number
): ContinuationDecision {
  switch (grant.state) {
    case 'issued':
    case 'revoked':
      return 'over'
    case 'rejected':
      return 'rejected'
    case 'pending':
    case 'approved':
      break
  }
  if (grant.clientFrozen) return 'client-frozen'
  if (interactionReference?.isRight === false) return 'wrong-reference'
  const isPending = grant.state === 'pending'
  if (isPending && isPast(grant.interaction?.expiresAtMs, nowMs)) return 'expired'
  if (!isPending && isPast(grant.continueBeforeMs, nowMs)) return 'too-late'
  if (grant.continueAfterMs !== undefined && nowMs < grant.continueAfterMs) return 'too-fast'
  if (isPending) return grant.hasFinish ? 'unfinished' : 'wait'
  return grant.hasFinish && interactionReference === undefined ? 'reference-missing' : 'issue'
}

/** Whether an instant has passed; undefined counts as passed. */
function isPast(instantMs: number | undefined, nowMs: number): boolean {
  return instantMs === undefined || nowMs >= instantMs
}
