import type { AccessItem } from './access.js'
import type { BoundClient } from './clients.js'
import type { GrantState, SubjectRequest } from './grants.js'

/** A grant as whoever continues it finds it. */
export interface ContinuedGrant {
  readonly id: string
  readonly state: GrantState
  readonly holder: BoundClient
  readonly access: readonly AccessItem[]
  readonly subject: SubjectRequest | undefined
  /** Whether the client asked to be told when the interaction is over. */
  readonly hasFinish: boolean
  /** Not to be continued before; undefined when it may be at any time. */
  readonly continueAfter: Date | undefined
  /** Once it is approved, it must be continued before; undefined in every other state. */
  readonly continueBefore: Date | undefined
  /** The account holder's reason for declining, if one was given. */
  readonly rejectionReason: string | undefined
  /** Undefined for a grant that was issued without one. */
  readonly interaction: { readonly reference: string; readonly expiresAt: Date } | undefined
  /** The continuation token that was presented, and is the right one. */
  readonly continuationToken: string
}

/** What becomes of a continuation. */
export type ContinuationDecision =
  /** The account holder agreed, and the client may have what it asked for. */
  | 'issue'
  /** The account holder has not decided; the client is to ask again. */
  | 'wait'
  /** Issued already, cancelled, or revoked. */
  | 'over'
  | 'rejected'
  /** The account holder did not answer in time. */
  | 'expired'
  /** The account holder agreed, and the client did not come in time. */
  | 'too-late'
  | 'wrong-reference'
  | 'too-fast'
  /** The account holder has not decided, and the client will be told when it is over. */
  | 'unfinished'
  /** The client was told a reference and must show that it got it. */
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
  if (interactionReference?.isRight === false) return 'wrong-reference'
  const isPending = grant.state === 'pending'
  if (isPending && isPast(grant.interaction?.expiresAt, nowMs)) return 'expired'
  if (!isPending && isPast(grant.continueBefore, nowMs)) return 'too-late'
  if (grant.continueAfter !== undefined && nowMs < grant.continueAfter.getTime()) return 'too-fast'
  if (isPending) return grant.hasFinish ? 'unfinished' : 'wait'
  return grant.hasFinish && interactionReference === undefined ? 'reference-missing' : 'issue'
}

/** Whether an instant has come; one that is missing has. */
function isPast(instant: Date | undefined, nowMs: number): boolean {
  return instant === undefined || nowMs >= instant.getTime()
}
