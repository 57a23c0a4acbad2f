import { type Amount, isSameAsset } from '@open-payments-server/value-types/amounts'
import { intervalIndexAt, isPaying } from '@open-payments-server/value-types/intervals'
import type { Limits } from './access.js'
import type { GrantedAccessItem } from './token-record.js'

/** A payment to be reserved under a grant. */
export interface PaymentContent {
  /** SHA-256 of the value of the token it is created with. */
  readonly tokenHash: Buffer
  /** URL of the wallet address it is sent from. */
  readonly walletAddress: string
  /** URL of the incoming payment being paid. */
  readonly receiver: string
  /** Maximum to be debited. */
  readonly debitAmount: Amount
  /** Maximum to be received. */
  readonly receiveAmount: Amount
  /** SHA-256 of the client's request. */
  readonly requestHash: Buffer
}

/** A payment whose reservation the database lost. */
export interface LostReservation {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  /** Id of the grant (UUID). */
  readonly grantId: string
  /** As it was reserved; the token is not known any more. */
  readonly content: Omit<PaymentContent, 'tokenHash'>
  /** See `contentHash`. */
  readonly contentHash: Buffer
  /** The instant that decides its interval, in milliseconds since the Unix epoch. */
  readonly chargedAtMs: number
  /** What the grant had spent in that interval when it was made, this payment included. */
  readonly spent: { readonly spentDebitValue: bigint; readonly spentReceiveValue: bigint }
}

/** Where spent amounts are counted: an access item in one interval. */
export interface Window {
  /** Id of the access item (UUID). */
  readonly accessItemId: string
  /** Number of the interval, from 0; 0 for an item without an interval. */
  readonly intervalIndex: bigint
}

/** Why a payment is refused. */
export type RefusalReason =
  /** The token is not active, or was not issued here. Never recorded: a token says nothing about the payment. */
  | 'inactive-token'
  /** No item covers creating outgoing payments from the wallet address. */
  | 'insufficient-grant'
  /** Exceeds the amounts, or goes to another receiver or asset than every covering item allows. */
  | 'limit-exceeded'
  /** Every item that would allow it is outside its interval. */
  | 'outside-interval'
  /** An operator froze the client. Never recorded: the freeze may end. */
  | 'client-frozen'
  /** The account holder paused the grant. Never recorded: they may resume it. */
  | 'grant-paused'
  /** Released before it was reserved. */
  | 'released'

/** A limit of an access item, by its name in the request of the grant. */
export type LimitName = keyof Limits

/** The windows to which a payment may be charged. */
export interface Coverage {
  /** In the order in which to try them: the payment is charged to the first with room. */
  readonly candidates: readonly Window[]
  /** The items that allow its wallet address, receiver and assets, whatever their room and interval. */
  readonly allowing: readonly GrantedAccessItem[]
  /** Why the payment is refused if none of them has room. */
  readonly refusal: RefusalReason
}

/**
 * Finds the windows to which a payment may be charged. The database decides whether one has room.
 *
 * @param items rights of the token, in the order in which they were requested
 */
export function coverPayment(
  items: readonly GrantedAccessItem[],
  payment: Omit<PaymentContent, 'tokenHash'>,
  nowMs: number
): Coverage {
  const covering = items.filter((item) => coversCreation(item, payment.walletAddress))
  if (covering.length === 0) return { candidates: [], allowing: [], refusal: 'insufficient-grant' }
  const allowing = covering.filter((item) => unmetLimits(item, payment).length === 0)
  if (allowing.length === 0) return { candidates: [], allowing, refusal: 'limit-exceeded' }
  const candidates = currentWindows(allowing, nowMs)
  return { candidates, allowing, refusal: candidates.length === 0 ? 'outside-interval' : 'limit-exceeded' }
}

/** The items to which payments can be charged. */
export function chargeableItems(items: readonly GrantedAccessItem[]): readonly GrantedAccessItem[] {
  return items.filter(isPaying)
}

/** The windows of items at an instant, in the order of the items; none for items outside their intervals. */
export function currentWindows(items: readonly GrantedAccessItem[], nowMs: number): readonly Window[] {
  return items.flatMap(({ id, interval }) => {
    const index = interval === undefined ? 0n : intervalIndexAt(interval, nowMs)
    return index === undefined ? [] : [{ accessItemId: id, intervalIndex: index }]
  })
}

/** Whether an item is for creating payments from a wallet address. */
export function coversCreation(item: GrantedAccessItem, walletAddress: string): boolean {
  return chargeableItems([item]).length > 0 && item.identifier === walletAddress
}

/** The limits of an item that a payment cannot meet, whatever its amounts: those that name another receiver or asset. */
export function unmetLimits(
  { limits }: GrantedAccessItem,
  payment: Omit<PaymentContent, 'tokenHash'>
): readonly LimitName[] {
  const unmet: LimitName[] = []
  if (limits?.receiver !== undefined && limits.receiver !== payment.receiver) unmet.push('receiver')
  if (!allowsAsset(limits?.debitAmount, payment.debitAmount)) unmet.push('debitAmount')
  if (!allowsAsset(limits?.receiveAmount, payment.receiveAmount)) unmet.push('receiveAmount')
  return unmet
}

function allowsAsset(limit: Amount | undefined, amount: Amount): boolean {
  return limit === undefined || isSameAsset(limit.asset, amount.asset)
}
