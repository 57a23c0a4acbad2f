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
 * @param access what is granted: everything that was asked, or less
 * @param authServer the grant endpoint
 */
export function consentTerms(
  { id, walletAddress, expiresAtMs, grant }: InteractionRecord,
  access: readonly AccessItem[],
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
    expiresAt: new Date(expiresAtMs).toISOString()
  }
}

/**
 * Whom a client may pay.
 *
 * @returns URLs of incoming payments, each once; null for anyone it chooses
 */
export function payeesOf(access: readonly AccessItem[]): readonly string[] | null {
  const paying = access.filter(
    ({ type, actions }) => type === 'outgoing-payment' && actions.includes('create')
  )
  const receivers = paying.flatMap(({ limits }) => limits?.receiver ?? [])
  return receivers.length < paying.length ? null : [...new Set(receivers)]
}
