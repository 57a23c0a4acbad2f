import { type AmountWire, type Asset, formatAmount } from '@open-payments-server/value-types/amounts'
import type { EventType } from './event-types.js'
import type { PaymentMethods, PaymentMethodWire } from './payment-methods.js'
import { roomOf } from './receiver.js'
import { renderShownRefunds, type ShownRefunds, type ShownRefundsWire } from './refund.js'
import { type Representation, renderTime } from './representation.js'
import type { ResourceUrls } from './resource-urls.js'

/** An incoming payment (interface 2.5). Values are in the smallest units of the asset. */
export interface IncomingPayment extends ShownRefunds {
  /** Id (UUID). */
  readonly id: string
  /** URL of the receiving wallet address. */
  readonly walletAddressUrl: string
  /** The client that created it; see `nameClient`. */
  readonly client: string
  readonly asset: Asset
  /** Maximum that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  readonly expiresAtMs: number
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Id (UUID) of the outgoing payment that the payments to it refund; undefined unless they do. */
  readonly refundOf: string | undefined
}

/** An incoming payment as a list has it. */
export type ListedIncomingPayment = Omit<IncomingPayment, 'client'>

/** An incoming payment on the wire (interface 2.5). */
export interface IncomingPaymentWire extends ShownRefundsWire {
  readonly id: string
  readonly walletAddress: string
  readonly completed: boolean
  readonly incomingAmount?: AmountWire
  readonly receivedAmount: AmountWire
  readonly expiresAt: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly updatedAt?: string
  readonly refundOf?: string
  readonly methods?: readonly PaymentMethodWire[]
}

/**
 * From when nothing of a payment changes any more, in milliseconds since the Unix epoch: it expires, if it was not completed
 * before.
 */
export function incomingPaymentEndsAtMs({
  completed,
  expiresAtMs
}: Pick<IncomingPayment, 'completed' | 'expiresAtMs'>): number {
  return completed ? -Infinity : expiresAtMs
}

/** The type of the last event of a payment, as far as its state tells: for those whose events are no longer kept. */
export function lastIncomingPaymentEvent({
  completed,
  receivedValue
}: Pick<IncomingPayment, 'completed' | 'receivedValue'>): EventType {
  if (completed) return 'incoming_payment.completed'
  return receivedValue > 0n ? 'incoming_payment.received' : 'incoming_payment.created'
}

/** Whether a payment can no longer receive: completed, or past its expiry (interface 3). */
function isClosed(payment: IncomingPayment, nowMs: number): boolean {
  const { completed, expired } = roomOf(payment, nowMs)
  return completed || expired
}

/** The payment without its methods, as it is listed and completed (interface 4.6). */
export function renderIncomingPayment(
  payment: ListedIncomingPayment,
  urls: ResourceUrls,
  representation: Representation
): IncomingPaymentWire {
  const { asset, incomingValue, metadata } = payment
  return {
    id: urls.of('incoming-payments', payment.id),
    walletAddress: payment.walletAddressUrl,
    completed: payment.completed,
    ...(incomingValue === undefined ? {} : { incomingAmount: formatAmount({ value: incomingValue, asset }) }),
    receivedAmount: formatAmount({ value: payment.receivedValue, asset }),
    expiresAt: renderTime(payment.expiresAtMs),
    ...(metadata === undefined ? {} : { metadata }),
    createdAt: renderTime(payment.createdAtMs),
    ...(representation === 'full' ? renderUnpublished(payment, urls) : {})
  }
}

/** What only the full representation has. */
function renderUnpublished(
  payment: ListedIncomingPayment,
  urls: ResourceUrls
): Pick<IncomingPaymentWire, 'updatedAt' | 'refundOf'> & ShownRefundsWire {
  const { refundOf } = payment
  return {
    updatedAt: renderTime(payment.updatedAtMs),
    ...(refundOf === undefined ? {} : { refundOf: urls.of('outgoing-payments', refundOf) }),
    ...renderShownRefunds(payment, payment.asset, urls)
  }
}

/** The payment with its payment methods; none once it can no longer receive. */
export function renderPayableIncomingPayment(
  payment: IncomingPayment,
  dependencies: { urls: ResourceUrls; methods: PaymentMethods; nowMs: number }
): IncomingPaymentWire {
  return {
    ...renderIncomingPayment(payment, dependencies.urls, 'full'),
    methods: isClosed(payment, dependencies.nowMs) ? [] : dependencies.methods.of(payment)
  }
}

/** The fields that the answer to a creation depends on: none of them ever changes. */
export type CreatedIncomingPayment = Omit<
  IncomingPayment,
  'client' | 'receivedValue' | 'completed' | 'updatedAtMs' | 'refundOf' | keyof ShownRefunds
>

/**
 * The payment as its creation was answered (interface 4.4), whatever happened since: nothing received, not completed, and
 * with its methods.
 */
export function renderCreatedIncomingPayment(
  payment: CreatedIncomingPayment,
  dependencies: { urls: ResourceUrls; methods: PaymentMethods }
): IncomingPaymentWire {
  const asCreated = {
    ...payment,
    receivedValue: 0n,
    completed: false,
    updatedAtMs: payment.createdAtMs,
    refundOf: undefined,
    refundedValue: 0n,
    refunds: []
  }
  return {
    ...renderIncomingPayment(asCreated, dependencies.urls, 'full'),
    methods: dependencies.methods.of(payment)
  }
}
