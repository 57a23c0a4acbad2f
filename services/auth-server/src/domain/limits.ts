import { createHash } from 'node:crypto'
import { type Amount, isSameAsset } from '@open-payments-server/value-types/amounts'
import { intervalIndexAt } from '@open-payments-server/value-types/intervals'
import type { GrantedAccessItem } from './token-record.js'

/** A payment that asks for room under a grant. */
export interface PaymentContent {
  /** SHA-256 of the value of the token it is created with. */
  readonly tokenHash: Buffer
  /** URL of the wallet address it is sent from. */
  readonly walletAddress: string
  /** URL of the incoming payment being paid. */
  readonly receiver: string
  /** Most that will be debited. */
  readonly debitAmount: Amount
  /** Most that will be received. */
  readonly receiveAmount: Amount
  /** SHA-256 of what the client asked for. */
  readonly requestHash: Buffer
}

/** Where spent amounts are counted: an access item in one interval. */
export interface Window {
  /** Id of the access item (UUID). */
  readonly accessItemId: string
  /** Number of the interval, from 0; 0 for an item without an interval. */
  readonly intervalIndex: bigint
}

/** Why a payment gets no room. */
export type RefusalReason =
  /** The token is not active, or was not issued here. Never recorded: a token says nothing about the payment. */
  | 'token_inactive'
  /** No item covers creating outgoing payments from the wallet address. */
  | 'insufficient_grant'
  /** Over the amounts, to another receiver, or in another asset than every covering item allows. */
  | 'limit_exceeded'
  /** Every item that would allow it is outside its intervals. */
  | 'outside_interval'
  /** Released before it was reserved. */
  | 'released'

/** Where a payment may be counted. */
export interface Coverage {
  /** In the order in which to try them: the payment is charged to the first with room (decisions: "in order"). */
  readonly candidates: readonly Window[]
  /** Why the payment is refused when none of them has room. */
  readonly refusal: RefusalReason
}

/**
 * Finds the windows that a payment may be charged to. Whether one has room is for the database to say.
 *
 * @param items rights of the token, in the order in which they were asked for
 */
export function coverPayment(
  items: readonly GrantedAccessItem[],
  payment: PaymentContent,
  now: Date
): Coverage {
  const covering = items.filter((item) => coversCreation(item, payment.walletAddress))
  if (covering.length === 0) return { candidates: [], refusal: 'insufficient_grant' }
  const allowing = covering.filter((item) => allowsReceiverAndAssets(item, payment))
  if (allowing.length === 0) return { candidates: [], refusal: 'limit_exceeded' }
  const candidates = currentWindows(allowing, now)
  return { candidates, refusal: candidates.length === 0 ? 'outside_interval' : 'limit_exceeded' }
}

/** The items that payments can be charged to. */
export function chargeableItems(items: readonly GrantedAccessItem[]): readonly GrantedAccessItem[] {
  return items.filter((item) => item.type === 'outgoing-payment' && item.actions.includes('create'))
}

/** The windows of items at an instant, in the order of the items; none for items outside their intervals. */
export function currentWindows(items: readonly GrantedAccessItem[], now: Date): readonly Window[] {
  return items.flatMap(({ id, interval }) => {
    const index = interval === undefined ? 0n : intervalIndexAt(interval, now)
    return index === undefined ? [] : [{ accessItemId: id, intervalIndex: index }]
  })
}

function coversCreation(item: GrantedAccessItem, walletAddress: string): boolean {
  return (
    chargeableItems([item]).length > 0 && (item.identifier === undefined || item.identifier === walletAddress)
  )
}

function allowsReceiverAndAssets({ limits }: GrantedAccessItem, payment: PaymentContent): boolean {
  return (
    (limits?.receiver === undefined || limits.receiver === payment.receiver) &&
    allowsAsset(limits?.debitAmount, payment.debitAmount) &&
    allowsAsset(limits?.receiveAmount, payment.receiveAmount)
  )
}

function allowsAsset(limit: Amount | undefined, amount: Amount): boolean {
  return limit === undefined || isSameAsset(limit.asset, amount.asset)
}

/**
 * SHA-256 over what makes a request for room the same as another: two calls with one payment id are of the same request when
 * their hashes are the same. The token is no part of it, because a client that repeats its request may have rotated it. Nor
 * are the amounts, because those of a repeated request follow the exchange rate.
 *
 * @param grantId id (UUID) of the grant; undefined for a token that was not issued here
 */
export function contentHash(
  {
    requestHash,
    walletAddress,
    receiver
  }: Pick<PaymentContent, 'requestHash' | 'walletAddress' | 'receiver'>,
  grantId: string | undefined
): Buffer {
  // JSON keeps the parts apart, so that no two contents make the same text.
  const content = JSON.stringify([grantId ?? null, requestHash.toString('hex'), walletAddress, receiver])
  return createHash('sha256').update(content).digest()
}
