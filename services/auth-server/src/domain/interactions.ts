import { createHash } from 'node:crypto'
import type { AccessItem } from './access.js'
import type { GrantState, InteractionState, SubjectRequest } from './grants.js'
import { matchesHash } from './secrets.js'

/** Where a browser is sent at the end of the interaction, and how the client is notified (RFC 9635 §2.5.2). */
export interface FinishRequest {
  readonly uri: string
  /** The client's nonce. */
  readonly nonce: string
  /** As requested by the client; undefined when it requested none. */
  readonly hashMethod: string | undefined
}

/** The account holder's consent to a grant, and the grant it decides. */
export interface InteractionRecord {
  readonly id: string
  /** URL of the wallet address whose account holder must consent. */
  readonly walletAddress: string
  /** The server's nonce. */
  readonly nonce: string
  /** `interact_ref` */
  readonly reference: string
  readonly state: InteractionState
  readonly expiresAtMs: number
  /** SHA-256 of the cookie of the browser that opened it first; undefined until one did. */
  readonly browserHash: Uint8Array | undefined
  /** SHA-256 of the code issued with the approval; undefined when none was issued. */
  readonly finishCodeHash: Uint8Array | undefined
  readonly grant: {
    readonly id: string
    readonly state: GrantState
    /** Time by which an approved grant must be continued; undefined in every other state. */
    readonly continueBeforeMs: number | undefined
    /** When it ends, in milliseconds since 1970; undefined without an end. */
    readonly endsAtMs: number | undefined
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
  /** Undefined when there is no such interaction, or the nonce does not match. */
  find(id: string, nonce: string): Promise<InteractionRecord | undefined>
}

/** Whether the account holder can still decide. */
export function isOpen(interaction: InteractionRecord, nowMs: number): boolean {
  return (
    interaction.state === 'PENDING' &&
    interaction.grant.state === 'pending' &&
    nowMs < interaction.expiresAtMs
  )
}

/** Why a decision comes too late: the grant or the interaction has ended; undefined when it does not. */
export function lateness(interaction: InteractionRecord, nowMs: number): 'denied' | 'closed' | undefined {
  if (interaction.grant.state === 'rejected' || interaction.grant.state === 'revoked') return 'denied'
  return isOpen(interaction, nowMs) ? undefined : 'closed'
}

/**
 * How an interaction ended, for the client that is notified. An approval that can no longer be continued does not count.
 */
export function decisionOf(interaction: InteractionRecord, nowMs: number): 'approved' | 'denied' | 'invalid' {
  const { state, grant } = interaction
  if (grant.state === 'revoked') return 'invalid'
  if (grant.state === 'approved' && nowMs >= (grant.continueBeforeMs ?? 0)) return 'invalid'
  switch (state) {
    case 'APPROVED':
      return 'approved'
    case 'DENIED':
      return 'denied'
    case 'PENDING':
      return 'invalid'
  }
}

/**
 * The interaction hash, which proves to a client that the browser comes from its own interaction (RFC 9635 §4.2.3).
 *
 * In base64url, as RFC 9635 says, when the client requested a hash method; otherwise in padded standard base64, which every
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

/**
 * Whether a browser is the one that opened the interaction first.
 *
 * @param cookie as presented by the browser
 */
export function isBoundTo(
  { browserHash }: Pick<InteractionRecord, 'browserHash'>,
  cookie: string | undefined
): boolean {
  return browserHash !== undefined && cookie !== undefined && matchesHash(cookie, browserHash)
}

/**
 * Whether a browser may finish the interaction: it opened it and, if the consent page used a finish code, it is the one in
 * which the account holder consented.
 */
export function mayFinish(
  interaction: Pick<InteractionRecord, 'browserHash' | 'finishCodeHash'>,
  browser: FinishingBrowser
): boolean {
  const { finishCodeHash } = interaction
  const hasCode =
    finishCodeHash === undefined ||
    (browser.finishCode !== undefined && matchesHash(browser.finishCode, finishCodeHash))
  return isBoundTo(interaction, browser.cookie) && hasCode
}

/** What a browser presents to finish an interaction. */
export interface FinishingBrowser {
  /** Cookie that it got when it opened the interaction; undefined when it has none. */
  readonly cookie: string | undefined
  /** Code that the consent page gave it; undefined when it has none. */
  readonly finishCode: string | undefined
}
