import { payeesOf } from '@open-payments-server/value-types/intervals'
import { type AccessItem, type AccessItemWire, formatAccessItem } from '../domain/access.js'
import type { SubjectRequest } from '../domain/grants.js'
import type { InteractionRecord } from '../domain/interactions.js'

/** What an account holder consents to, but for the words in which they were told. */
export interface ConsentTerms {
  /** The grant endpoint: grants elsewhere are other grants. */
  readonly authServer: string
  /** Id of the interaction (UUID). */
  readonly interaction: string
  /** URL of the client's wallet address. */
  readonly client: string
  /** Its public name, as the account holder was shown it. */
  readonly clientName: string
  /** URL of the wallet address whose account holder consents. */
  readonly walletAddress: string
  /** What is granted. */
  readonly access: readonly AccessItemWire[]
  /** What the client learns about the account holder; absent when it asked for nothing. */
  readonly subject?: SubjectRequest
  /** URLs of the only incoming payments that may be paid, each once; null when the client may pay anyone it chooses. */
  readonly payees: readonly string[] | null
  /** When all of it ends: ISO 8601; absent when the account holder set no end. */
  readonly endsAt?: string
  /** When the account holder can no longer decide: ISO 8601. */
  readonly expiresAt: string
}

/** A consent document: the terms, and the words in which the account holder was told them. */
export interface ConsentDocument extends ConsentTerms {
  /** Language of the words (BCP 47). */
  readonly language: string
  /** The words that were shown, in their order. */
  readonly words: readonly string[]
}

/**
 * What an account holder consents to.
 *
 * @param granted.access everything that was asked, or less
 * @param granted.endsAtMs when it ends, in milliseconds since 1970; undefined when no end was set
 * @param authServer the grant endpoint
 */
export function consentTerms(
  { id, walletAddress, expiresAtMs, grant }: InteractionRecord,
  { access, endsAtMs }: { readonly access: readonly AccessItem[]; readonly endsAtMs?: number | undefined },
  authServer: string
): ConsentTerms {
  return {
    authServer,
    interaction: id,
    client: grant.client,
    clientName: grant.clientName,
    walletAddress,
    access: access.map(formatAccessItem),
    ...(grant.subject === undefined ? {} : { subject: grant.subject }),
    payees: payeesOf(access),
    ...(endsAtMs === undefined ? {} : { endsAt: new Date(endsAtMs).toISOString() }),
    expiresAt: new Date(expiresAtMs).toISOString()
  }
}
