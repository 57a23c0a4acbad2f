import { createHash, createHmac } from 'node:crypto'
import type { AccessItem } from './access.js'
import type { GrantState, InteractionState, SubjectRequest } from './grants.js'
import { isSameSecret } from './secrets.js'

/** Where a browser is sent when the interaction is over, and how the client will know that it was (RFC 9635 §2.5.2). */
export interface FinishRequest {
  readonly uri: string
  /** The client's nonce. */
  readonly nonce: string
  /** As the client asked for it; undefined when it asked for none. */
  readonly hashMethod: string | undefined
}

/** The account holder's part in a grant, and the grant it decides. */
export interface InteractionRecord {
  readonly id: string
  /** The server's nonce. */
  readonly nonce: string
  /** `interact_ref` */
  readonly reference: string
  readonly state: InteractionState
  readonly expiresAt: Date
  readonly grant: {
    readonly id: string
    readonly state: GrantState
    /** URL of the client's wallet address. */
    readonly client: string
    readonly clientName: string
    readonly access: readonly AccessItem[]
    readonly subject: SubjectRequest | undefined
    readonly finish: FinishRequest | undefined
  }
}

/** Finds interactions. */
export interface InteractionReader {
  /** Undefined when there is no such interaction, or the nonce is not its own. */
  find(id: string, nonce: string): Promise<InteractionRecord | undefined>
}

/** Whether the account holder can still decide. */
export function isOpen(interaction: InteractionRecord, nowMs: number): boolean {
  return (
    interaction.state === 'PENDING' &&
    interaction.grant.state === 'pending' &&
    nowMs < interaction.expiresAt.getTime()
  )
}

/** Why a choice comes too late: the grant is over already, or the interaction is; undefined when it does not. */
export function lateness(interaction: InteractionRecord, nowMs: number): 'denied' | 'closed' | undefined {
  if (interaction.grant.state === 'rejected' || interaction.grant.state === 'revoked') return 'denied'
  return isOpen(interaction, nowMs) ? undefined : 'closed'
}

/** How an interaction ended, for the client that is told so. A choice does not expire. */
export function outcomeOf(interaction: InteractionRecord): 'approved' | 'denied' | 'invalid' {
  if (interaction.grant.state === 'revoked') return 'invalid'
  switch (interaction.state) {
    case 'APPROVED':
      return 'approved'
    case 'DENIED':
      return 'denied'
    case 'PENDING':
      return 'invalid'
  }
}

/**
 * The hash that shows a client that the browser it sees comes from its own interaction (RFC 9635 §4.2.3).
 *
 * In base64url as RFC 9635 says when the client asked for a hash method; else in padded standard base64, which every
 * client of Open Payments compares with.
 *
 * @param grantEndpoint the grant endpoint exactly as wallet addresses advertise it
 */
export function finishHash(
  finish: FinishRequest,
  interaction: { readonly nonce: string; readonly reference: string },
  grantEndpoint: string
): string {
  const text = [finish.nonce, interaction.nonce, interaction.reference, grantEndpoint].join('\n')
  const encoding = finish.hashMethod === undefined ? 'base64' : 'base64url'
  return createHash('sha256').update(text, 'utf8').digest(encoding)
}

/** Name of the cookie that binds an interaction to the browser that started it. */
export const INTERACTION_COOKIE = 'interaction'

/** The value of that cookie: nobody else can compute it, and it says nothing. */
export function interactionCookie(
  secret: string,
  interaction: { readonly id: string; readonly nonce: string }
): string {
  return createHmac('sha256', secret).update(`${interaction.id}\n${interaction.nonce}`).digest('base64url')
}

/** Whether a browser presents the cookie of the interaction. */
export function isInteractionCookie(
  presented: string | undefined,
  secret: string,
  interaction: { readonly id: string; readonly nonce: string }
): boolean {
  return presented !== undefined && isSameSecret(presented, interactionCookie(secret, interaction))
}
