import { type AmountWire, type Asset, formatAmount } from '@open-payments-server/value-types/amounts'
import { renderTime } from './representation.js'
import { type ResourceUrls, urnOf } from './resource-urls.js'

/** State of a refund. One of the provider is completed at once; one that a client's payment makes ends with that payment. */
export type RefundState = 'pending' | 'completed' | 'failed'

/** A refund: gives back what an outgoing payment delivered, or a part of it, and changes nothing of that payment's amounts. */
export interface Refund {
  /** Id (UUID): that of the payment that makes it, if a client's payment does. */
  readonly id: string
  /** Id (UUID) of the outgoing payment whose delivery it gives back. */
  readonly refundOf: string
  /** Id (UUID) of the client's payment that makes it; undefined for one of the provider. */
  readonly paymentId: string | undefined
  /** `failed` if nothing was sent back. */
  readonly state: RefundState
  /** What is taken from: the asset of the receiver. */
  readonly asset: Asset
  /** What it takes from the receiver without fees, as it was asked for. */
  readonly value: bigint
  /** What it took in the end; undefined while it is pending. */
  readonly settledValue: bigint | undefined
  /** The asset of the payer. */
  readonly returnedAsset: Asset
  /** What the payer got back of what was delivered, in the payer's asset; undefined while it is pending. */
  readonly returnedValue: bigint | undefined
  /** What the payer got back of the fee, in the payer's asset. */
  readonly returnedFeeValue: bigint
  /** The operator who made it, a person or the names in a machine's certificate: shown to operators only. Undefined in plain text. */
  readonly createdBy: string | undefined
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** A refund on the wire. */
export interface RefundWire {
  readonly id: string
  readonly refundOf: string
  readonly payment?: string
  readonly state: RefundState
  readonly value: string
  readonly refundAmount: AmountWire
  readonly returnedAmount?: AmountWire
  readonly returnedFeeAmount?: AmountWire
  readonly createdAt: string
  readonly updatedAt: string
}

/**
 * The refund as events and both payments show it. Its id is a URN, because nothing more could be read at a URL. `value` is what was asked for, and `refundAmount` what it took, or is to take
 * while it is pending.
 */
export function renderRefund(refund: Refund, urls: ResourceUrls): RefundWire {
  const { asset, returnedAsset, returnedValue, returnedFeeValue } = refund
  return {
    id: urnOf(refund.id),
    refundOf: urls.of('outgoing-payments', refund.refundOf),
    ...(refund.paymentId === undefined ? {} : { payment: urls.of('outgoing-payments', refund.paymentId) }),
    state: refund.state,
    value: refund.value.toString(),
    refundAmount: formatAmount({ value: takenBy(refund), asset }),
    ...(returnedValue === undefined
      ? {}
      : { returnedAmount: formatAmount({ value: returnedValue, asset: returnedAsset }) }),
    ...(returnedFeeValue === 0n
      ? {}
      : { returnedFeeAmount: formatAmount({ value: returnedFeeValue, asset: returnedAsset }) }),
    createdAt: renderTime(refund.createdAtMs),
    updatedAt: renderTime(refund.updatedAtMs)
  }
}

/** What a refund takes of what its payment delivered: nothing if it failed. */
function takenBy({ value, settledValue }: Refund): bigint {
  return settledValue ?? value
}

/** What is shown of the refunds of a payment, outgoing or incoming. */
export interface ShownRefunds {
  /** What they took, or are to take, all together, in the receiver's asset. */
  readonly refundedValue: bigint
  /** The newest of those that did not fail, up to {@link SHOWN_REFUNDS_MAX}; none in lists. */
  readonly refunds: readonly Refund[]
}

/** Maximum number of refunds that a payment shows. */
export const SHOWN_REFUNDS_MAX = 20

/** The refunds of a payment on the wire: no members if there are none. */
export interface ShownRefundsWire {
  readonly refundedAmount?: AmountWire
  readonly refunds?: readonly RefundWire[]
}

/** Renders the refunds of a payment whose receiver's asset this is. */
export function renderShownRefunds(
  { refundedValue, refunds }: ShownRefunds,
  asset: Asset,
  urls: ResourceUrls
): ShownRefundsWire {
  if (refundedValue === 0n) return {}
  return {
    refundedAmount: formatAmount({ value: refundedValue, asset }),
    ...(refunds.length === 0 ? {} : { refunds: refunds.map((refund) => renderRefund(refund, urls)) })
  }
}
