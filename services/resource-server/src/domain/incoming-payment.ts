import { type AmountWire, type Asset, formatAmount } from '@open-payments-server/value-types/amounts'
import type { PaymentMethods, PaymentMethodWire } from './payment-methods.js'
import { roomOf } from './receiver.js'
import type { Representation } from './representation.js'
import type { ResourceUrls } from './resource-urls.js'

/** An incoming payment (interface 2.5). Values are in the smallest units of the asset. */
export interface IncomingPayment {
  /** Id (UUID). */
  readonly id: string
  /** URL of the wallet address it is made into. */
  readonly walletAddressUrl: string
  /** Who created it; see `nameClient`. */
  readonly client: string
  readonly asset: Asset
  /** Most that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  readonly expiresAtMs: number
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Which key its shared secret is derived from; undefined for one from before keys were told apart. */
  readonly sharedSecretKeyId: string | undefined
}

/** An incoming payment as it travels (interface 2.5). */
export interface IncomingPaymentWire {
  readonly id: string
  readonly walletAddress: string
  readonly completed: boolean
  readonly incomingAmount?: AmountWire
  readonly receivedAmount: AmountWire
  readonly expiresAt: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly updatedAt?: string
  readonly methods?: readonly PaymentMethodWire[]
}

/** Whether a payment takes no further money: completed, or past its expiry (interface 3). */
export function isClosed(payment: IncomingPayment, nowMs: number): boolean {
  const { completed, expired } = roomOf(payment, nowMs)
  return completed || expired
}

/** The payment without its methods, as it is listed and completed (interface 4.6). */
export function renderIncomingPayment(
  payment: Omit<IncomingPayment, 'client'>,
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
    ...(representation === 'full' ? { updatedAt: renderTime(payment.updatedAtMs) } : {})
  }
}

/** The payment with the ways to pay it: none any more once it takes no further money. */
export function renderPayableIncomingPayment(
  payment: IncomingPayment,
  deps: { urls: ResourceUrls; methods: PaymentMethods; nowMs: number }
): IncomingPaymentWire {
  return {
    ...renderIncomingPayment(payment, deps.urls, 'full'),
    methods: isClosed(payment, deps.nowMs) ? [] : deps.methods.of(payment)
  }
}

/** What the answer to a creation depends on: none of it ever changes. */
export type CreatedIncomingPayment = Omit<
  IncomingPayment,
  'client' | 'receivedValue' | 'completed' | 'updatedAtMs'
>

/**
 * The payment as its creation was answered (interface 4.4), whatever became of it since: nothing received, not completed,
 * and with its methods.
 */
export function renderCreatedIncomingPayment(
  payment: CreatedIncomingPayment,
  deps: { urls: ResourceUrls; methods: PaymentMethods }
): IncomingPaymentWire {
  const asCreated = { ...payment, receivedValue: 0n, completed: false, updatedAtMs: payment.createdAtMs }
  return {
    ...renderIncomingPayment(asCreated, deps.urls, 'full'),
    methods: deps.methods.of(payment)
  }
}

function renderTime(ms: number): string {
  return new Date(ms).toISOString()
}
