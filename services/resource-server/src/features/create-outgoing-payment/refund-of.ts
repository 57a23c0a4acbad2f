import { invalidRefund } from '../../domain/errors.js'
import type { PaymentTerms } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { WalletAddress } from '../../domain/wallet-address.js'
import type { Queries } from '../../modules/database.js'
import { findRefundable } from '../../modules/outgoing-payments/index.js'
import type { RefundByPayment } from '../../modules/refunds/index.js'

/** What a payment says that it refunds. */
export interface RefundOrder {
  /** What it refunds of a payment here; undefined unless it does. */
  readonly refund: RefundByPayment | undefined
  /** Its metadata: with `refundOf` where it refunds a payment of another provider, which this one cannot look at. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

/**
 * Reads what a payment refunds. One to a receiver at another provider may refund a payment of that provider: then it is an ordinary
 * payment that says so in its metadata, and nobody but its client bounds it.
 *
 * @throws Refusal `not-payable` as {@link requireRefundable} does
 */
export async function readRefund(
  { refundOf, metadata }: { readonly refundOf: string | undefined } & Pick<RefundOrder, 'metadata'>,
  payment: { readonly walletAddress: WalletAddress; readonly terms: PaymentTerms },
  dependencies: { readonly database: Queries; readonly urls: ResourceUrls }
): Promise<RefundOrder> {
  if (refundOf === undefined) return { refund: undefined, metadata }
  const { receiver } = payment.terms
  const isElsewhere = receiver.incomingPaymentId === undefined
  if (isElsewhere && new URL(refundOf).origin === new URL(receiver.url).origin) {
    return { refund: undefined, metadata: { ...metadata, refundOf } }
  }
  return { refund: await requireRefundable(refundOf, payment, dependencies), metadata }
}

/**
 * Requires that a payment may refund another one: it goes from the wallet address that received to an incoming payment of the one
 * that paid, and takes no more than is left of what was delivered. The statement that persists it checks the last again.
 *
 * @param refundOf URL of the payment to refund, as given
 * @throws Refusal `not-payable` naming `refundOf`. Payments that do not exist and those of others get the same
 */
export async function requireRefundable(
  refundOf: string,
  payment: { readonly walletAddress: WalletAddress; readonly terms: PaymentTerms },
  { database, urls }: { readonly database: Queries; readonly urls: ResourceUrls }
): Promise<RefundByPayment> {
  const id = urls.idOf('outgoing-payments', refundOf)
  const { amounts, receiver } = payment.terms
  const found =
    id === undefined || receiver.incomingPaymentId === undefined
      ? undefined
      : await findRefundable(database, { id, returnedTo: receiver.incomingPaymentId })
  if (
    found?.incomingPaymentId === undefined ||
    found.state === 'pending' ||
    found.receiverWalletAddressId !== payment.walletAddress.id
  ) {
    throw invalidRefund('not a payment that this wallet address has received anything of')
  }
  if (found.returnedToWalletAddressId !== found.payerWalletAddressId) {
    throw invalidRefund('must be paid back to an incoming payment of the wallet address that paid')
  }
  const left = found.deliveredValue - found.refundedValue
  if (amounts.debitValue - amounts.feeValue > left) {
    throw invalidRefund(
      `no more than ${left.toString()} is left to refund, and this payment is of more without its fee`
    )
  }
  return {
    refundOf: found.id,
    incomingPaymentId: found.incomingPaymentId,
    assetId: found.receiveAssetId,
    returnedAssetId: found.debitAssetId
  }
}
