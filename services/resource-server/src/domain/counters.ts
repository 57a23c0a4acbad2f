import type { SignatureErrorReason } from '@open-payments-server/http-signatures'

// Events for metrics. Counting returns at once and never fails. For payments, see payment-counters.ts.

/** Why a request failed authentication: what is wrong with its signature or its token. Callers get less detail. */
export type AuthenticationFailure = SignatureErrorReason | 'token' | 'inactive-token'

/** Counts requests that failed authentication. */
export type AuthenticationFailureCounter = (failure: AuthenticationFailure) => void

/**
 * Where an introspection answer came from: the cache; the auth server; or the auth server because nothing may be cached
 * now.
 */
export const TOKEN_RECORD_SOURCES = ['hit', 'miss', 'bypassed'] as const

/** Counts token introspections. */
export type TokenLookupCounter = (source: (typeof TOKEN_RECORD_SOURCES)[number]) => void

/** The background workers. */
export const WORKERS = [
  'processing',
  'sending',
  'approval',
  'delivery',
  'sweeping',
  'lost-payments',
  'expiry',
  'closing',
  'publishing',
  'webhooks',
  'purge'
] as const

/** Counts batches that failed. */
export type FailedBatchCounter = (worker: (typeof WORKERS)[number]) => void

/** What is deleted after it expired: quotes that no payment used, and incoming payments that never received anything. */
export const EXPIRING_KINDS = ['quote', 'incoming-payment'] as const
/** What is deleted: what expired, events, and attempts to deliver them. */
export const PURGED_KINDS = [...EXPIRING_KINDS, 'event', 'webhook-attempt'] as const

/** What is deleted after it expired. */
export type ExpiringKind = (typeof EXPIRING_KINDS)[number]

/** What the purge deletes. */
export type PurgedKind = (typeof PURGED_KINDS)[number]

/** Counts what was deleted. */
export type PurgeCounter = (kind: PurgedKind, count: number) => void
