import type { Amount } from '@open-payments-server/value-types/amounts'
import type { AccessItem } from './authorization.js'

// What the resource server needs from the auth server, in its own terms. `grpc/auth-server` implements it over gRPC.

/** The auth server cannot be reached now, or did not answer in time. It is then unknown whether a call had its effect. */
export class AuthServerUnavailable extends Error {
  override readonly name = 'AuthServerUnavailable'

  constructor(cause: unknown) {
    super('the auth server did not answer', { cause })
  }
}

/** The status of a token. */
export type TokenStatus =
  /** It was not issued here. */
  | { readonly status: 'unknown' }
  /** It is expired, rotated or revoked, or its grant has ended. */
  | { readonly status: 'inactive' }
  | ActiveToken

/** A token that may be used. */
export interface ActiveToken {
  readonly status: 'active'
  /** Id of the grant (UUID). */
  readonly grantId: string
  /** The token holder; see `nameClient`. */
  readonly client: string
  /**
   * Key that requests must be signed with; undefined when the requested key id is not one of the client's now,
   * `unavailable` when the client's keys cannot be fetched.
   */
  readonly key: { readonly kid: string; readonly x: string } | 'unavailable' | undefined
  readonly access: readonly AccessItem[]
  /** Until when this holds, in milliseconds since the Unix epoch: the token expires, or allows less. */
  readonly expiresAtMs: number
  /** URL of the wallet address whose account holder consented to the grant; undefined when it needed no consent. */
  readonly consentedWalletAddress: string | undefined
  /** Whether the client is frozen: it may only read. */
  readonly clientFrozen: boolean
  /** Whether its account holder paused the grant: it may only be used to read. */
  readonly grantPaused: boolean
}

/** Introspects tokens (RFC 9767 §3.3). */
export interface Introspection {
  /**
   * Introspects a token.
   *
   * @param keyId `keyid` of the signature that came with it; undefined when there was none that could be read
   * @throws AuthServerUnavailable
   */
  introspect(accessToken: string, keyId: string | undefined): Promise<TokenStatus>
}

/** Receives tokens that stop being active before they expire. */
export interface RevocationListener {
  /** The stream is live: answers requested from now on may be cached. */
  onStarted(): void
  /** The token with this SHA-256 was rotated or revoked. */
  onTokenRevoked(accessTokenHash: Buffer): void
  /** All tokens of this grant stopped being active. */
  onGrantRevoked(grantId: string): void
  /** This client was frozen, or its freeze ended; see `nameClient`. */
  onClientFreezeChanged(client: string): void
  /** This grant was paused, resumed or lowered: its tokens are as active as before. */
  onGrantChanged(grantId: string): void
  /** The stream has ended: every cached answer is void. Called exactly once. */
  onEnded(reason: unknown): void
}

/** Streams revocations. */
export interface RevocationFeed {
  /** Opens a stream. It does not reopen by itself. */
  watch(listener: RevocationListener): { close(): void }
}

/** The clients that are frozen. */
export interface FrozenClients {
  /**
   * Lists all of them, by name; see `nameClient`.
   *
   * @throws AuthServerUnavailable
   */
  list(): Promise<readonly string[]>
}

/** What a payment to be created reserves under its grant. */
export interface ReservationRequest {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  readonly accessToken: string
  /** URL of the wallet address it is sent from. */
  readonly walletAddress: string
  /** URL of the incoming payment being paid. */
  readonly receiver: string
  /** Maximum to be debited. */
  readonly debitAmount: Amount
  /** Maximum to be received. */
  readonly receiveAmount: Amount
  /** SHA-256 of the client's request: distinguishes a repeated request from another one. */
  readonly requestHash: Buffer
}

/** Why there was no room for a payment. */
export type RefusalReason =
  /** Nothing is recorded: the same request may be repeated with an active token of the grant. */
  | 'inactive-token'
  | 'insufficient-grant'
  | 'limit-exceeded'
  | 'outside-interval'
  /** The caller has given this payment id up. */
  | 'released'
  /** The client is frozen. Nothing is recorded: the same request may be repeated once the freeze has ended. */
  | 'client-frozen'
  /** The account holder paused the grant. Nothing is recorded: the same request may be repeated once it is resumed. */
  | 'grant-paused'

/** What still fits under a grant that refused a payment, in one payment to the same receiver in the same assets. */
export interface Remaining {
  /** Maximum debit; undefined when it is not limited. */
  readonly debitAmount: Amount | undefined
  /** Maximum to be received; undefined when it is not limited. */
  readonly receiveAmount: Amount | undefined
  /** When the next interval of the grant begins, in milliseconds since the Unix epoch; undefined when none does. */
  readonly nextIntervalAtMs: number | undefined
}

/** A limit of an access item, by its name in the request of the grant. */
export type LimitName = 'receiver' | 'interval' | 'debitAmount' | 'receiveAmount'

/** The access item that refuses a payment. */
export interface RefusingItem {
  /** Its place in the access of the token, from 0. */
  readonly accessIndex: number
  /** The limits that the payment does not meet, at least one. */
  readonly limits: readonly LimitName[]
}

/** Why a grant does not allow a payment: for its token holder. */
export interface RefusalDetails {
  /** undefined when no amount would fit, now or later. */
  readonly remaining: Remaining | undefined
  /** undefined when the payment would fit now: what was refused before stays refused. */
  readonly refusedBy: RefusingItem | undefined
}

/** The result of a reservation; the same payment id gets the same result again. */
export type ReserveResult =
  | {
      readonly kind: 'reserved'
      readonly grantId: string
      /** Amount debited under the grant in the current interval, this payment included. */
      readonly spentDebitAmount: Amount
      /** Amount received under the grant in the current interval, this payment included. */
      readonly spentReceiveAmount: Amount
      /** The instant that decided its interval, by the auth server's clock, in milliseconds since the Unix epoch. */
      readonly chargedAtMs: number
      /** Whether an earlier call reserved it: then its payment may have been made, and lost in a failover since. */
      readonly wasReservedBefore: boolean
    }
  | ({ readonly kind: 'refused'; readonly reason: RefusalReason } & RefusalDetails)
  /** The id belongs to a reservation of another request. */
  | { readonly kind: 'mismatch' }
  /** The same request has reserved under this id at another rate. */
  | { readonly kind: 'other-amounts' }

/** Maximum number of reservations that are ended together. */
export const ENDS_MAX = 100

/** How a reservation is to end. */
export type ReservationEnd =
  /** With what was actually debited and received, never more than was reserved. */
  | {
      readonly kind: 'settle'
      readonly paymentId: string
      readonly settledDebitValue: bigint
      readonly settledReceiveValue: bigint
    }
  /** For a payment that sent nothing, or does not exist: an id that was not reserved never will be. */
  | { readonly kind: 'release'; readonly paymentId: string }

/** The result of ending a reservation. */
export type EndResult =
  | 'ended'
  /** There is no reservation under this id (never for a release, which makes sure that there will be none). */
  | 'not-found'
  /** It was already ended the other way. */
  | 'ended-otherwise'

/** Maximum number of reservations that are recorded anew together. */
export const RESTORED_MAX = 100

/** The reservation of a payment here that the auth server's database lost: as it was answered when it was made. */
export interface LostReservation {
  /** Id (UUID). */
  readonly paymentId: string
  /** Id (UUID). */
  readonly grantId: string
  /** URL. */
  readonly walletAddress: string
  /** URL. */
  readonly receiver: string
  readonly debitAmount: Amount
  readonly receiveAmount: Amount
  /** SHA-256 of the client's request. */
  readonly requestHash: Uint8Array
  /** The instant that decided its interval, in milliseconds since the Unix epoch. */
  readonly chargedAtMs: number
  /** Amounts under the grant when it was made, this payment included. */
  readonly spentDebitValue: bigint
  readonly spentReceiveValue: bigint
}

/** The result of recording a reservation anew. */
export type RestoreResult =
  | { readonly kind: 'restored' }
  /** The auth server says why not, and whether it is because there is no such grant. */
  | { readonly kind: 'refused'; readonly reason: string; readonly isGrantUnknown: boolean }

/** A reservation, as the auth server stores it. */
export interface Reservation {
  readonly paymentId: string
  /** Undefined for one that was released or refused without a grant. */
  readonly grantId: string | undefined
  /** The token holder; undefined without a grant. */
  readonly client: string | undefined
  /** URLs of the paying wallet address and of the incoming payment; undefined if nothing was ever reserved. */
  readonly walletAddress: string | undefined
  readonly receiver: string | undefined
  readonly state: 'open' | 'settled' | 'released' | 'refused'
  readonly debitAmount: Amount | undefined
  readonly receiveAmount: Amount | undefined
  /** Present when settled. */
  readonly settledDebitValue: bigint | undefined
  /** Present when settled. */
  readonly settledReceiveValue: bigint | undefined
  readonly createdAtMs: number
  /** The instant that decided its interval, by its clock, in milliseconds since the Unix epoch; undefined for what never reserved room. */
  readonly chargedAtMs: number | undefined
  /** See `contentHash` of the value types; undefined for an id that was released before it was reserved. */
  readonly contentHash: Buffer | undefined
  /** Amounts under the grant when it was made, this payment included; undefined where `reserve` answered none. */
  readonly spentDebitValue: bigint | undefined
  readonly spentReceiveValue: bigint | undefined
}

/** A page of reservations. */
export interface ReservationPage {
  readonly reservations: readonly Reservation[]
  /** Token of the next page; undefined on the last. */
  readonly nextPageToken: string | undefined
}

/** What a grant has spent in the current interval; null before any payment. */
export interface SpentAmounts {
  readonly spentDebitAmount: Amount | null
  readonly spentReceiveAmount: Amount | null
}

/** Time limit of a call. */
export interface CallOptions {
  /** When the call must have ended, in milliseconds since the Unix epoch; default: the configured deadline. */
  readonly deadlineAtMs?: number
  readonly signal?: AbortSignal
}

/**
 * Tracks what each grant has spent against its limits. Every call is idempotent. Each throws AuthServerUnavailable when the
 * auth server did not answer; every other failure is a defect.
 */
export interface GrantLimits {
  /**
   * Reserves a payment's amounts under the grant of a token, before the payment exists. Concurrent requests share a call.
   */
  reserve(request: ReservationRequest): Promise<ReserveResult>
  /** Ends reservations, at most {@link ENDS_MAX}, together. Never rejects: returns the result of each, in order. */
  end(
    ends: readonly ReservationEnd[],
    options?: CallOptions
  ): Promise<readonly PromiseSettledResult<EndResult>[]>
  /** Has reservations recorded anew, at most {@link RESTORED_MAX}. Returns the result of each, in order. */
  restore(reservations: readonly LostReservation[], options?: CallOptions): Promise<readonly RestoreResult[]>
  /** What the grant of a token has spent; undefined when the token is not active. */
  getSpentAmounts(accessToken: string, options?: CallOptions): Promise<SpentAmounts | undefined>
  /** Reservations neither settled nor released, oldest first: a page of at most `pageSize` (1 to 1000). */
  listOpenReservations(
    query: { olderThanSeconds: number; pageSize: number; pageToken: string | undefined },
    options?: CallOptions
  ): Promise<ReservationPage>
  /** The reservation of a payment id, of any state. */
  findReservation(paymentId: string, options?: CallOptions): Promise<Reservation | undefined>
  /** Reservations of every state by payment id, after one; at most `pageSize` (1 to 1000). */
  listReservations(
    query: { afterPaymentId: string | undefined; pageSize: number },
    options?: CallOptions
  ): Promise<readonly Reservation[]>
}
