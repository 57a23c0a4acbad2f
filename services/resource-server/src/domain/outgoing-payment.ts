import {
  type AmountWire,
  type Asset,
  formatAmount,
  type QuotedAmounts
} from '@open-payments-server/value-types/amounts'
import type { EventType } from './event-types.js'
import type { FailureReason } from './failure-reasons.js'
import type { SendingTerms } from './outgoing-method.js'
import { renderShownRefunds, type ShownRefunds, type ShownRefundsWire } from './refund.js'
import { type Representation, renderTime } from './representation.js'
import type { ResourceUrls } from './resource-urls.js'

/**
 * State of an outgoing payment. While it is awaiting approval, its hold and its reservation stand, and nothing processes it. The
 * provider makes it pending, or it fails.
 */
export type OutgoingPaymentState = 'awaiting_approval' | 'pending' | 'completed' | 'failed'

/** The terms of a payment: fixed before anything is reserved for it. */
export interface PaymentTerms {
  readonly amounts: QuotedAmounts
  readonly receiver: {
    /** URL of the incoming payment. */
    readonly url: string
    /** Id (UUID) of the incoming payment; undefined if it is hosted elsewhere. */
    readonly incomingPaymentId: string | undefined
    readonly asset: Asset
    /** Id of the asset. */
    readonly assetId: number
  }
  /** Id (UUID) of the quote they come from. */
  readonly quoteId: string | undefined
  /** How it is sent; undefined if the receiver is hosted here. */
  readonly sending: SendingTerms | undefined
  /**
   * Until when they stand, in milliseconds since the Unix epoch: it must have been begun by then. undefined if the receiver is hosted here and no
   * exchange rate is among them, so that waiting gains nothing.
   */
  readonly beginUntilMs: number | undefined
}

/**
 * How long after its terms ended a payment may still be paid that waits for nobody's decision, in milliseconds: enough for an outage of this
 * provider, and elsewhere for ten attempts that deliver nothing, with the pauses between them. Its exchange rates stand until then, so whoever
 * could delay it further would choose whether they hold.
 */
export const PAID_AFTER_TERMS_MAX_MS = 600_000

/** An outgoing payment (interface 2.4). Values are in the smallest units of the asset named beside them. */
export interface OutgoingPayment extends ShownRefunds {
  /** Id (UUID). */
  readonly id: string
  /** URL of the wallet address it is sent from. */
  readonly walletAddressUrl: string
  /** The client that created it; see `nameClient`. */
  readonly client: string
  /** Id (UUID) of the quote it was created from. */
  readonly quoteId: string | undefined
  /** URL of the incoming payment being paid. */
  readonly receiver: string
  readonly debitAsset: Asset
  /** In the debit asset. */
  readonly debitValue: bigint
  readonly receiveAsset: Asset
  /** In the receive asset. */
  readonly receiveValue: bigint
  readonly state: OutgoingPaymentState
  /** undefined unless it failed. */
  readonly failureReason: FailureReason | undefined
  /** Amount actually debited, in the debit asset: the `sentAmount` that clients read. */
  readonly settledDebitValue: bigint
  /** Id (UUID) of the payment that it refunds; undefined unless it is a refund. */
  readonly refundOf: string | undefined
  /** Amount debited under the grant when the payment was created, itself included, in the debit asset. */
  readonly grantSpentDebitValue: bigint
  /** Amount received under the grant when the payment was created, itself included, in the receive asset. */
  readonly grantSpentReceiveValue: bigint
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** An outgoing payment as a list has it. */
export type ListedOutgoingPayment = Omit<
  OutgoingPayment,
  'client' | 'grantSpentDebitValue' | 'grantSpentReceiveValue'
>

/** From when nothing of a payment changes any more, in milliseconds since the Unix epoch; infinite while nobody knows. */
export function outgoingPaymentEndsAtMs({ state }: Pick<OutgoingPayment, 'state'>): number {
  return state === 'completed' || state === 'failed' ? -Infinity : Infinity
}

/** The type of the last event of a payment, as its state tells: for those whose events are no longer kept. */
export function lastOutgoingPaymentEvent({
  state,
  settledDebitValue
}: Pick<OutgoingPayment, 'state' | 'settledDebitValue'>): EventType {
  if (state !== 'pending') return `outgoing_payment.${state}`
  return settledDebitValue > 0n ? 'outgoing_payment.partially_sent' : 'outgoing_payment.created'
}

/** An outgoing payment on the wire (interface 2.4). */
export interface OutgoingPaymentWire extends ShownRefundsWire {
  readonly id: string
  readonly walletAddress: string
  readonly quoteId?: string
  /** Only while it awaits approval: `failed` and `sentAmount` tell of all other states. */
  readonly state?: 'awaiting_approval'
  readonly failed: boolean
  readonly failureReason?: FailureReason
  readonly receiver: string
  readonly receiveAmount: AmountWire
  readonly debitAmount: AmountWire
  readonly sentAmount: AmountWire
  readonly refundOf?: string
  readonly grantSpentDebitAmount?: AmountWire
  readonly grantSpentReceiveAmount?: AmountWire
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly updatedAt?: string
}

/** The payment as it is read (interface 4.5): its latest state, without the grant's spent amounts. */
export function renderOutgoingPayment(
  payment: ListedOutgoingPayment,
  urls: ResourceUrls,
  representation: Representation
): OutgoingPaymentWire {
  return {
    ...renderTerms(payment, urls),
    failed: payment.state === 'failed',
    sentAmount: formatAmount({ value: payment.settledDebitValue, asset: payment.debitAsset }),
    ...renderMetadata(payment),
    createdAt: renderTime(payment.createdAtMs),
    ...(representation === 'full' ? renderUnpublished(payment, urls) : {})
  }
}

/** What only the full representation has. */
function renderUnpublished(
  payment: ListedOutgoingPayment,
  urls: ResourceUrls
): Pick<OutgoingPaymentWire, 'state' | 'failureReason' | 'updatedAt' | 'refundOf'> & ShownRefundsWire {
  const { state, failureReason, updatedAtMs } = payment
  return {
    ...(state === 'awaiting_approval' ? { state } : {}),
    ...(failureReason === undefined ? {} : { failureReason }),
    ...renderRefundOf(payment, urls),
    ...renderShownRefunds(payment, payment.receiveAsset, urls),
    updatedAt: renderTime(updatedAtMs)
  }
}

function renderRefundOf(
  { refundOf }: Pick<OutgoingPayment, 'refundOf'>,
  urls: ResourceUrls
): Pick<OutgoingPaymentWire, 'refundOf'> {
  return refundOf === undefined ? {} : { refundOf: urls.of('outgoing-payments', refundOf) }
}

/**
 * The payment as its creation was answered (interface 4.3), whatever happened since: nothing sent, not failed, and with
 * what the grant had spent then.
 */
export function renderCreatedOutgoingPayment(
  payment: OutgoingPayment,
  urls: ResourceUrls
): OutgoingPaymentWire {
  return {
    ...renderTerms(payment, urls),
    failed: false,
    sentAmount: formatAmount({ value: 0n, asset: payment.debitAsset }),
    ...renderRefundOf(payment, urls),
    grantSpentDebitAmount: formatAmount({ value: payment.grantSpentDebitValue, asset: payment.debitAsset }),
    grantSpentReceiveAmount: formatAmount({
      value: payment.grantSpentReceiveValue,
      asset: payment.receiveAsset
    }),
    ...renderMetadata(payment),
    createdAt: renderTime(payment.createdAtMs),
    updatedAt: renderTime(payment.createdAtMs)
  }
}

function renderTerms(
  payment: ListedOutgoingPayment,
  urls: ResourceUrls
): Pick<
  OutgoingPaymentWire,
  'id' | 'walletAddress' | 'quoteId' | 'receiver' | 'receiveAmount' | 'debitAmount'
> {
  return {
    id: urls.of('outgoing-payments', payment.id),
    walletAddress: payment.walletAddressUrl,
    ...(payment.quoteId === undefined ? {} : { quoteId: urls.of('quotes', payment.quoteId) }),
    receiver: payment.receiver,
    receiveAmount: formatAmount({ value: payment.receiveValue, asset: payment.receiveAsset }),
    debitAmount: formatAmount({ value: payment.debitValue, asset: payment.debitAsset })
  }
}

function renderMetadata(payment: ListedOutgoingPayment): Pick<OutgoingPaymentWire, 'metadata'> {
  return payment.metadata === undefined ? {} : { metadata: payment.metadata }
}
