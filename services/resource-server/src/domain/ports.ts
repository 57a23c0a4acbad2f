import type { Outcome } from '@open-payments-server/runtime'
import type { Amount } from '@open-payments-server/value-types/amounts'
import type { AccessItem } from './authorization.js'

// What the resource server asks of the auth server, in its own words. `grpc/auth-server` carries it over gRPC.

/**
 * The auth server cannot be asked now, or did not answer in time. Whether a call had its effect is then not known.
 */
export class AuthServerUnavailable extends Error {
  override readonly name = 'AuthServerUnavailable'

  constructor(cause: unknown) {
    super('the auth server did not answer', { cause })
  }
}

/** What a token is worth. */
export type TokenStatus =
  /** It was not issued here. */
  | { readonly status: 'unknown' }
  /** It is expired, rotated or revoked, or its grant is over. */
  | { readonly status: 'inactive' }
  | ActiveToken

/** A token that may be used. */
export interface ActiveToken {
  readonly status: 'active'
  /** Id of the grant (UUID). */
  readonly grantId: string
  /** Who holds the grant; see `nameClient`. */
  readonly client: string
  /**
   * Key that requests must be signed with; undefined when the key id that was asked about is not one of the client's now,
   * `unavailable` when nobody can tell.
   */
  readonly key: { readonly kid: string; readonly x: string } | 'unavailable' | undefined
  readonly access: readonly AccessItem[]
  /** When the token expires, in milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
  /** URL of the wallet address whose account holder agreed to the grant; undefined when nobody was asked. */
  readonly consentedWalletAddress: string | undefined
}

/** Tells what tokens are worth (RFC 9767 §3.3). */
export interface Introspection {
  /**
   * Asks about a token.
   *
   * @param keyId `keyid` of the signature that came with it; undefined when there was none that could be read
   * @throws AuthServerUnavailable
   */
  introspect(accessToken: string, keyId: string | undefined): Promise<TokenStatus>
}

/** What is told of tokens that stop being active before they expire. */
export interface RevocationListener {
  /** The stream is live: answers asked for from now on may be kept. */
  onStarted(): void
  /** The token with this SHA-256 was rotated or revoked. */
  onTokenRevoked(accessTokenHash: Buffer): void
  /** All tokens of this grant stopped being active. */
  onGrantRevoked(grantId: string): void
  /** The stream is over: every answer that was kept is void. Called exactly once. */
  onEnded(reason: unknown): void
}

/** Streams revocations. */
export interface RevocationFeed {
  /** Opens a stream. It does not come back by itself. */
  watch(listener: RevocationListener): { close(): void }
}

/** What a payment to be created asks of its grant. */
export interface ReservationRequest {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  readonly accessToken: string
  /** URL of the wallet address it is sent from. */
  readonly walletAddress: string
  /** URL of the incoming payment being paid. */
  readonly receiver: string
  /** Most that will be debited. */
  readonly debitAmount: Amount
  /** Most that will be received. */
  readonly receiveAmount: Amount
  /** SHA-256 of what the client asked for: tells a repeated request from another one. */
  readonly requestHash: Buffer
}

/** Why there was no room for a payment. */
export type RefusalReason =
  /** Nothing is recorded: the same request may come again with an active token of the grant. */
  | 'token-inactive'
  | 'insufficient-grant'
  | 'limit-exceeded'
  | 'outside-interval'
  /** The caller had given up on this payment id. */
  | 'released'

/** What was decided about a reservation; the same payment id gets the same answer again. */
export type ReservationOutcome =
  | {
      readonly outcome: 'reserved'
      readonly grantId: string
      /** Debited under the grant in the current interval, this payment included. */
      readonly spentDebitAmount: Amount
      /** Received under the grant in the current interval, this payment included. */
      readonly spentReceiveAmount: Amount
    }
  | { readonly outcome: 'refused'; readonly reason: RefusalReason }
  /** The id is taken by a reservation of another request. */
  | { readonly outcome: 'mismatch' }
  /** The id holds room for the same request at another rate. */
  | { readonly outcome: 'other-amounts' }

/** Most reservations that are ended together. */
export const ENDS_MAX = 100

/** How a reservation is to end. */
export type ReservationEnd =
  /** With what was really debited and received, never more than was reserved. */
  | {
      readonly kind: 'settle'
      readonly paymentId: string
      readonly debitedValue: bigint
      readonly receivedValue: bigint
    }
  /** Of a payment that sent nothing, or does not exist: an id never reserved never will be. */
  | { readonly kind: 'release'; readonly paymentId: string }

/** How a reservation was ended. */
export type EndOutcome =
  | 'ended'
  /** There is no reservation under this id (never of a release, which makes sure that there will be none). */
  | 'not-found'
  /** It had been ended the other way. */
  | 'ended-otherwise'

/** A reservation as the auth server keeps it. */
export interface Reservation {
  readonly paymentId: string
  /** Undefined for one that was released or refused without a grant. */
  readonly grantId: string | undefined
  /** Who holds the grant; undefined without one. */
  readonly client: string | undefined
  /** URLs of the wallet address that pays and of the incoming payment that is paid; undefined for what never held room. */
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
}

/** A page of reservations. */
export interface ReservationPage {
  readonly reservations: readonly Reservation[]
  /** Asks for the next page; undefined on the last. */
  readonly nextPageToken: string | undefined
}

/** What a grant has spent in the current interval; null before any payment. */
export interface SpentAmounts {
  readonly debitAmount: Amount | null
  readonly receiveAmount: Amount | null
}

/** How long a call may take. */
export interface CallOptions {
  /** When the call must be over, in milliseconds since the Unix epoch; the configured deadline unless given. */
  readonly deadlineMs?: number
  readonly signal?: AbortSignal
}

/**
 * Keeps what each grant has spent against its limits. Every call may be repeated with the same effect as once.
 * Each throws AuthServerUnavailable when the auth server did not answer; every other failure is a defect.
 */
export interface GrantLimits {
  /** Reserves a payment's amounts under the grant of a token, before the payment exists. What arrives together is asked together. */
  reserve(request: ReservationRequest): Promise<ReservationOutcome>
  /** Ends reservations, at most {@link ENDS_MAX}, together. Never rejects: says of each, in their order, what it came to. */
  end(ends: readonly ReservationEnd[], options?: CallOptions): Promise<readonly Outcome<EndOutcome>[]>
  /** What the grant of a token has spent; undefined when the token is not active. */
  getSpentAmounts(accessToken: string, options?: CallOptions): Promise<SpentAmounts | undefined>
  /** Reservations neither settled nor released, oldest first: a page of at most `pageSize` (1 to 1000). */
  listOpenReservations(
    query: { olderThanSeconds: number; pageSize: number; pageToken: string | undefined },
    options?: CallOptions
  ): Promise<ReservationPage>
  /** Reservations of every state by payment id, after one; at most `pageSize` (1 to 1000). */
  listReservations(
    query: { afterPaymentId: string | undefined; pageSize: number },
    options?: CallOptions
  ): Promise<readonly Reservation[]>
}
