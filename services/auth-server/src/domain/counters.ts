import type { SignatureErrorReason } from '@open-payments-server/http-signatures'
import type { RefusalReason } from './limits.js'

// What happens here, for whoever counts it. Counting returns at once and never fails.

/** What a grant came to: it was let in, waits for its account holder, has its token, was declined, or was ended. */
export const GRANT_EVENTS = ['requested', 'pending', 'granted', 'rejected', 'revoked'] as const
/** What happened in an interaction, by the browser or the identity provider. */
export const INTERACTION_EVENTS = ['started', 'accepted', 'rejected', 'finished'] as const
/** What its holder did with a token. */
export const TOKEN_EVENTS = ['rotated', 'revoked'] as const

/** Counts grants, the interactions they need, and what becomes of their tokens. */
export interface GrantCounters {
  countGrant(event: (typeof GRANT_EVENTS)[number]): void
  countInteraction(event: (typeof INTERACTION_EVENTS)[number]): void
  countToken(event: (typeof TOKEN_EVENTS)[number]): void
}

/**
 * Why nobody was authenticated: what is wrong with a signature; `client`, whose keys cannot be fetched; or `holder`, somebody
 * other than who holds the grant, or a token that is not the one. Callers are not told that apart.
 */
export type AuthenticationFailure = SignatureErrorReason | 'client' | 'holder'

/** Counts requests that were refused because of who sent them. */
export type AuthenticationFailureCounter = (failure: AuthenticationFailure) => void

/** What was answered to a payment that asks for room; `repeated` is room that it had already. */
export type ReservationAnswer = 'reserved' | 'repeated' | 'mismatch' | 'other_amounts' | RefusalReason

/** What was answered about a token; `key_unavailable` is one that is active, without its key. */
export type IntrospectionAnswer = 'active' | 'inactive' | 'unknown' | 'key_unavailable'

/** Counts what the resource server asks. */
export interface RpcCounters {
  countReservation(answer: ReservationAnswer): void
  countIntrospection(answer: IntrospectionAnswer): void
}

/** Where the keys of a client came from: kept, fetched now, or kept from before because they could not be fetched. */
export const KEY_SOURCES = ['hit', 'miss', 'stale'] as const

/** Counts lookups of the keys of clients. One that fails is a `miss`. */
export type KeyLookupCounter = (source: (typeof KEY_SOURCES)[number]) => void
