import type { Asset, QuotedAmounts } from '@open-payments-server/value-types/amounts'
import { invalidReceiver } from './errors.js'
import type { FailureReason } from './failure-reasons.js'
import type { FixedAmount } from './quoting.js'
import type { ResourceUrls } from './resource-urls.js'
import type { WalletAddress } from './wallet-address.js'

// A way in which money leaves for receivers that are hosted elsewhere. The payments decide, hold and settle; a method prices, and moves
// value. Payments to receivers hosted here need none: they are settled in the ledger.

/** How a payment is sent: fixed with its terms. */
export interface SendingTerms {
  /** Id (UUID) of the peer that it is sent to. */
  readonly peerId: string
  /** Maximum that may be sent, in the peer's asset. */
  readonly sendMaxValue: bigint
  /** Part of the fee that is paid whole as soon as anything is delivered, in the debit asset; the rest is shared. */
  readonly fixedFeeValue: bigint
}

/** The terms of a payment to a receiver that is hosted elsewhere. */
export interface PricedSending {
  readonly amounts: QuotedAmounts
  readonly receiveAsset: Asset
  /** Id of that asset. */
  readonly receiveAssetId: number
  readonly sending: SendingTerms
}

/** What a payment is priced by. */
export interface PricingRequest {
  readonly sender: Pick<WalletAddress, 'asset'>
  /** URL of the incoming payment, which is hosted elsewhere. */
  readonly receiver: string
  /** Undefined: whatever the receiver still lacks. */
  readonly fixed: FixedAmount | undefined
}

/** A payment that is to be sent, or what is left of one. */
export interface SendOrder {
  /** Id (UUID) of the payment. */
  readonly paymentId: string
  /** Id (UUID) of the lease with which it is sent: nothing is sent once somebody else has taken it. */
  readonly leaseId: string
  /** When the lease ends, unless it is renewed before: milliseconds since the Unix epoch. */
  readonly leasedUntilMs: number
  /** URL of the incoming payment. */
  readonly receiver: string
  readonly receiveAsset: Asset
  /** What the receiver is to get, in its asset. */
  readonly receiveValue: bigint
  readonly sending: SendingTerms
  /** From then on nothing is sent for it any more, because its terms no longer stand: milliseconds since the Unix epoch. */
  readonly sendUntilMs: number
  /** Whether it is certain that nothing was sent for it yet. */
  readonly isNew: boolean
}

/** How an attempt to send a payment ended. */
export type SendResult =
  /** All of it is delivered, or it cannot go on: `reason` says why not. Nothing is sent for it any more. */
  | { readonly kind: 'ended'; readonly deliveredValue: bigint; readonly reason: FailureReason }
  /** It may go on later. */
  | {
      readonly kind: 'later'
      readonly deliveredValue: bigint
      /** Why it fails if it never goes on. */
      readonly reason: FailureReason
      /** Whether it is known of everything that was sent what became of it. */
      readonly isDecided: boolean
      /** Whether this attempt delivered enough to try as often again: a hundredth of the payment. */
      readonly progressed: boolean
    }
  /** The signal was aborted. */
  | { readonly kind: 'stopped' }
  /** Of a part it is not known whether it arrived, and nothing else is to be done: people must find out. */
  | { readonly kind: 'undecided' }

/** A way in which money leaves for receivers that are hosted elsewhere. */
export interface OutgoingMethod {
  /**
   * The terms of a payment.
   *
   * @throws Refusal `not-payable` for what is no receiver or cannot be paid; `unavailable` or `rates-unavailable` when it
   *   cannot be told now
   */
  price(request: PricingRequest): Promise<PricedSending>
  /**
   * Moves value to a receiver: never more than the terms allow, through all attempts.
   *
   * @param signal ends the attempt: what is under way is waited for
   * @throws what the database throws, and when somebody else has taken the payment: then the attempt has ended, and another one may
   *   go on
   */
  send(order: SendOrder, signal: AbortSignal): Promise<SendResult>
  /**
   * Looks at a payment of which nothing may be sent now, because of a freeze.
   *
   * @returns `stopped` if it could go on; otherwise how it ends
   * @throws what the database throws
   */
  hold(order: SendOrder): Promise<Exclude<SendResult, { readonly kind: 'later' }>>
  /**
   * Ends a payment of which nothing more is to be sent, with what was delivered before.
   *
   * @param reason why nothing more is sent
   * @throws what the database throws
   */
  conclude(
    order: SendOrder,
    reason: FailureReason
  ): Promise<Extract<SendResult, { readonly kind: 'ended' | 'undecided' }>>
}

/**
 * How a receiver is paid that is no incoming payment here.
 *
 * @param receiver URL
 * @throws Refusal `not-payable` where nobody elsewhere can be paid, and for what would be here
 */
export function methodTowards(
  receiver: string,
  {
    outgoingMethod,
    urls
  }: { readonly outgoingMethod: OutgoingMethod | undefined; readonly urls: ResourceUrls }
): OutgoingMethod {
  if (outgoingMethod === undefined || urls.leadsHere(receiver)) throw invalidReceiver()
  return outgoingMethod
}
