import type { Asset } from '@open-payments-server/value-types/amounts'
import { FAILURE_REASONS, type FailureReason } from '../../domain/failure-reasons.js'
import { formatCursor, parseCursor, type Position } from '../../domain/pagination.js'
import { listNewestIncomingPayments } from '../../modules/incoming-payments/index.js'
import { type ListedPayment, listNewestOutgoingPayments } from '../../modules/outgoing-payments/index.js'
import type { OperatorDependencies } from './dependencies.js'
import {
  cutPage,
  type OperatorPage,
  type OperatorPageResult,
  readPageSize,
  unknownPageToken
} from '../operator-pages.js'
import { findWalletAddress } from './wallet-addresses.js'

/** A payment as operators see it. Values are in units of its asset. */
export interface OperatedPayment {
  /** Id (UUID). */
  readonly id: string
  readonly kind: 'incoming' | 'outgoing'
  /** URL of the wallet address it belongs to. */
  readonly walletAddress: string
  readonly state: 'pending' | 'completed' | 'expired' | 'failed'
  /** undefined unless it failed. */
  readonly failure: { readonly reason: FailureReason; readonly meaning: string } | undefined
  /** Incoming amount or debit amount; undefined when open. */
  readonly value: bigint | undefined
  /** Amount actually received, or actually sent. */
  readonly movedValue: bigint
  readonly asset: Asset
  /** URL of the incoming payment that an outgoing payment pays; empty for incoming payments. */
  readonly receiver: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

const LISTS = { incoming: listNewestIncomingPayments, outgoing: listNewestOutgoingPayments }

/**
 * Lists incoming or outgoing payments, newest first; with the URL of a wallet address, only its own.
 *
 * @throws OperationRefused `invalid`, or `not-found` for the wallet address
 */
export async function listPayments(
  request: OperatorPage & { kind: OperatedPayment['kind']; walletAddress: string },
  dependencies: OperatorDependencies
): Promise<OperatorPageResult<OperatedPayment>> {
  const { kind, walletAddress } = request
  const size = readPageSize(request)
  const after = readPlace(request.pageToken)
  const walletAddressId =
    walletAddress === '' ? undefined : (await findWalletAddress(walletAddress, dependencies)).id
  const found = await LISTS[kind](dependencies.database, { walletAddressId, after, limit: size + 1 })
  return cutPage(found, size, formatCursor, (payment) => toOperatedPayment(kind, payment, dependencies))
}

function toOperatedPayment(
  kind: OperatedPayment['kind'],
  { path, expiresAtMs, state, failureReason, ...payment }: ListedPayment,
  { urls, clock }: OperatorDependencies
): OperatedPayment {
  const expired = state === 'pending' && expiresAtMs !== undefined && expiresAtMs <= clock.now()
  return {
    ...payment,
    kind,
    walletAddress: urls.ofWalletAddress(path),
    state: expired ? 'expired' : state,
    failure: failureReason && { reason: failureReason, meaning: FAILURE_REASONS[failureReason] }
  }
}

function readPlace(pageToken: string): Position | undefined {
  if (pageToken === '') return undefined
  const place = parseCursor(pageToken)
  if (place === undefined) throw unknownPageToken()
  return place
}
