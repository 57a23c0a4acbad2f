import type { SignatureErrorReason } from '@open-payments-server/http-signatures'
import type { RefusalReason } from './limits.js'

// Events for metrics. Counting returns at once and never fails.

/**
 * An event of a grant: requested, waiting for its account holder, token issued, declined, or ended; and what account holders did with
 * it. One that is stopped is also revoked.
 */
export const GRANT_EVENTS = [
  'requested',
  'pending',
  'granted',
  'rejected',
  'revoked',
  'paused',
  'resumed',
  'lowered',
  'stopped'
] as const
/** An event of an interaction, by the browser or the identity provider. */
export const INTERACTION_EVENTS = ['started', 'accepted', 'rejected', 'finished'] as const
/** What its token holder did with a token. */
export const TOKEN_EVENTS = ['rotated', 'revoked'] as const

/** Counts events of grants, interactions and tokens. */
export interface GrantCounters {
  countGrant(event: (typeof GRANT_EVENTS)[number]): void
  countInteraction(event: (typeof INTERACTION_EVENTS)[number]): void
  countToken(event: (typeof TOKEN_EVENTS)[number]): void
}

/**
 * Why a request failed authentication: an error in a signature; `client`, the client's keys cannot be fetched; or `holder`,
 * not the token holder or not its token. Callers are not told these apart.
 */
export type AuthenticationFailure = SignatureErrorReason | 'client' | 'holder'

/** Counts requests that failed authentication. */
export type AuthenticationFailureCounter = (failure: AuthenticationFailure) => void

/** The answer to a reservation; `repeated` means already reserved. */
export type ReservationAnswer = 'reserved' | 'repeated' | 'mismatch' | 'other-amounts' | RefusalReason

/** The answer to an introspection; `key-unavailable` is an active token without its key. */
export type IntrospectionAnswer = 'active' | 'inactive' | 'unknown' | 'key-unavailable'

/** Counts calls of the resource server. */
export interface RpcCounters {
  countReservation(answer: ReservationAnswer): void
  countIntrospection(answer: IntrospectionAnswer): void
}

/** Where a client's keys came from: the cache, fetched now, or expired in the cache because they could not be fetched. */
export const KEY_SOURCES = ['hit', 'miss', 'stale'] as const

/** Counts lookups of clients' keys. A failed lookup is a `miss`. */
export type KeyLookupCounter = (source: (typeof KEY_SOURCES)[number]) => void

/**
 * What is deleted after it ended: grants with everything that belongs to them, tokens of grants that stay, and refusals of
 * payments.
 */
export const ENDED_KINDS = ['grant', 'token', 'refusal'] as const
/** What is deleted: what ended, and events. */
export const PURGED_KINDS = [...ENDED_KINDS, 'event', 'webhook-attempt'] as const

/** What is deleted after it ended. */
export type EndedKind = (typeof ENDED_KINDS)[number]

/** What the purge deletes. */
export type PurgedKind = (typeof PURGED_KINDS)[number]

/** Counts what was deleted. */
export type PurgeCounter = (kind: PurgedKind, count: number) => void
