import type { wallet } from '@open-payments-server/proto'
import { type Amount, type Asset, parseAmountValue } from '@open-payments-server/value-types/amounts'
import { assetOf, textOf } from './messages.js'

/** A refund: gives back what an outgoing payment delivered, or a part of it. */
export interface OperatorRefund {
  readonly id: string
  /** URL of the outgoing payment. */
  readonly refundOf: string
  /** URL of the client's payment that makes it; undefined for one of the provider. */
  readonly payment: string | undefined
  /** `pending`, `completed` or `failed`. */
  readonly state: string
  /** What it was to take from the receiver, and what it took in the end; undefined while it is pending. */
  readonly amount: Amount
  readonly settled: Amount | undefined
  /** What the payer got for it, in the payer's asset; undefined while it is pending. */
  readonly returned: Amount | undefined
  /** What the payer got back of the fee. */
  readonly returnedFee: Amount
  readonly createdAt: Date | undefined
  /** Who made it: a person, or the names in a machine's certificate; undefined for a machine in plain text, and for a client's payment. */
  readonly createdBy: string | undefined
}

/** A refund to be made. */
export interface RefundOrder {
  /** URL of the outgoing payment whose delivery is given back. */
  readonly refundOf: string
  /** What to take from the receiver, in units of the receiver's asset. */
  readonly value: string
  /** The same key with the same content has effect only once. */
  readonly key: string
  /** Whether the payer also gets the fee back, in proportion. */
  readonly returnsFee: boolean
}

/** A refund on the wire. */
export function refundOf(refund: wallet.Refund): OperatorRefund {
  const [asset, returnedAsset] = [assetOf(refund.asset), assetOf(refund.returnedAsset)]
  const amountOf = (value: string, of: Asset): Amount => ({ value: parseAmountValue(value), asset: of })
  const { settledValue, returnedValue } = refund
  return {
    id: refund.refundId,
    refundOf: refund.refundOf,
    payment: textOf(refund.payment),
    state: refund.state,
    amount: amountOf(refund.value, asset),
    settled: settledValue === '' ? undefined : amountOf(settledValue, asset),
    returned: returnedValue === '' ? undefined : amountOf(returnedValue, returnedAsset),
    returnedFee: amountOf(refund.returnedFeeValue, returnedAsset),
    createdAt: refund.createTime,
    createdBy: textOf(refund.createdBy)
  }
}
