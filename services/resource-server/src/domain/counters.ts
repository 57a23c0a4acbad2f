import type { SignatureErrorReason } from '@open-payments-server/http-signatures'

// What happens here, for whoever counts it. Counting returns at once and never fails. Payments: see payment-counters.ts.

/** Why a request was not let in: what is wrong with its signature, or with its token. Callers are told no more than before. */
export type AuthenticationFailure = SignatureErrorReason | 'token' | 'inactive_token'

/** Counts requests that were not let in. */
export type AuthenticationFailureCounter = (failure: AuthenticationFailure) => void

/** Where the worth of a token came from: kept; asked for; or asked for since nothing may be kept now. */
export const TOKEN_RECORD_SOURCES = ['hit', 'miss', 'bypassed'] as const

/** Counts lookups of what tokens are worth. */
export type TokenLookupCounter = (source: (typeof TOKEN_RECORD_SOURCES)[number]) => void

/** What works without a request. */
export const WORKERS = ['processing', 'delivery', 'sweeping', 'purge'] as const

/** Counts batches that failed. */
export type FailedBatchCounter = (worker: (typeof WORKERS)[number]) => void
