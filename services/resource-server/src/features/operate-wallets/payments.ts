import type { Asset } from '@open-payments-server/value-types/amounts'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { FAILURE_REASONS, type FailureReason } from '../../domain/failure-reasons.js'
import type { OutgoingPaymentState } from '../../domain/outgoing-payment.js'
import { listNewestIncomingPayments } from '../../modules/incoming-payments/index.js'
import { type ListedPayment, listNewestOutgoingPayments } from '../../modules/outgoing-payments/index.js'
import type { OperatorDependencies } from './dependencies.js'
import { findWalletAddress } from './wallet-addresses.js'

/** A payment as operators see it. Values are in units of its asset. */
export interface OperatedPayment {
  /** Id (UUID). */
  readonly id: string
  readonly kind: 'incoming' | 'outgoing'
  /** URL of the wallet address it belongs to. */
  readonly walletAddress: string
  readonly state: OutgoingPaymentState | 'expired'
  /** undefined unless it failed. */
  readonly failure: { readonly reason: FailureReason; readonly meaning: string } | undefined
  /** Incoming amount or debit amount; undefined when open. */
  readonly value: bigint | undefined
  /** Amount actually received, or actually sent. */
  readonly movedValue: bigint
  readonly asset: Asset
  /** URL of the incoming payment that an outgoing payment pays; empty for incoming payments. */
  readonly receiver: string
  /** What refunds took of what it delivered or received, or are to take, in the receiver's asset. */
  readonly refundedValue: bigint
  readonly refundedAsset: Asset
  /** URL of the outgoing payment that it, or the payments to it, refund; undefined unless they do. */
  readonly refundOf: string | undefined
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

const LISTS = { incoming: listNewestIncomingPayments, outgoing: listNewestOutgoingPayments }

/** The requested part of a list of payments. */
export interface PaymentListRequest {
  readonly kind: OperatedPayment['kind']
  /** URL of the wallet address whose payments are listed; empty for those of all. */
  readonly walletAddress: string
  /** Position after which the list begins; undefined starts with the newest. */
  readonly after: PageEnd | undefined
  readonly limit: number
}

/**
 * Lists incoming or outgoing payments, newest first; with the URL of a wallet address, only its own.
 *
 * @throws CallRefused `not-found` for the wallet address
 */
export async function listPayments(
  { kind, walletAddress, ...range }: PaymentListRequest,
  dependencies: OperatorDependencies
): Promise<readonly OperatedPayment[]> {
  const walletAddressId =
    walletAddress === '' ? undefined : (await findWalletAddress(walletAddress, dependencies)).id
  const found = await LISTS[kind](dependencies.database, { walletAddressId, ...range })
  return found.map((payment) => toOperatedPayment(kind, payment, dependencies))
}

function toOperatedPayment(
  kind: OperatedPayment['kind'],
  { path, expiresAtMs, state, failureReason, refundOf, ...payment }: ListedPayment,
  { urls, clock }: OperatorDependencies
): OperatedPayment {
  const expired = state === 'pending' && expiresAtMs !== undefined && expiresAtMs <= clock.now()
  return {
    ...payment,
    kind,
    walletAddress: urls.ofWalletAddress(path),
    state: expired ? 'expired' : state,
    refundOf: refundOf && urls.of('outgoing-payments', refundOf),
    failure: failureReason && { reason: failureReason, meaning: FAILURE_REASONS[failureReason].meaning }
  }
}
