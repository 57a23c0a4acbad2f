import type { Asset } from '@open-payments-server/amounts'
import { PublicError } from '@open-payments-server/http-server'
import { formatCursor, parseCursor, type Position } from '../../domain/pagination.js'
import type { OperatorDeps } from './deps.js'
import {
  cutPage,
  type OperatorPage,
  type OperatorPageResult,
  readPageSize,
  unknownPageToken
} from './paging.js'
import { findWalletAddress } from './wallet-addresses.js'

/** A payment as operators see it. Values are in units of its asset. */
export interface OperatedPayment {
  /** Id (UUID). */
  readonly id: string
  readonly kind: 'incoming' | 'outgoing'
  /** URL of the wallet address it belongs to. */
  readonly walletAddress: string
  readonly state: 'pending' | 'completed' | 'expired' | 'failed'
  /** Empty unless it failed. */
  readonly failureReason: string
  /** Incoming amount or debit amount; undefined when open. */
  readonly value: bigint | undefined
  /** Really received, or really sent. */
  readonly movedValue: bigint
  readonly asset: Asset
  /** URL of the incoming payment that an outgoing payment pays; empty for incoming payments. */
  readonly receiver: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

interface PaymentRow {
  readonly id: string
  readonly path: string
  readonly state: OperatedPayment['state']
  /** Null for outgoing payments. */
  readonly expires_at: Date | null
  readonly failure_reason: string
  readonly value: string | null
  readonly moved_value: string
  readonly code: string
  readonly scale: number
  readonly receiver: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** What differs between the two kinds. */
const COLUMNS: Readonly<Record<OperatedPayment['kind'], string>> = {
  incoming: `case when p.completed then 'completed' else 'pending' end as state, p.expires_at,
    '' as failure_reason, p.incoming_value as value, p.received_value as moved_value, '' as receiver`,
  outgoing: `p.state, null::timestamptz as expires_at,
    coalesce(p.failure_reason, '') as failure_reason, p.debit_value as value, p.sent_value as moved_value, p.receiver`
}

/** Keyset pagination over the index that fits: Prisma has no comparison of rows. */
const selectPayments = (kind: OperatedPayment['kind']): string => `
  select p.id, w.path, ${COLUMNS[kind]}, s.code, s.scale, p.created_at, p.updated_at
    from ${kind}_payment p
    join wallet_address w on w.id = p.wallet_address_id
    join account a on a.id = w.account_id
    join asset s on s.id = a.asset_id
   where ($1::uuid is null or p.wallet_address_id = $1)
     and ($2::timestamptz is null or (p.created_at, p.id) < ($2, $3::uuid))
   order by p.created_at desc, p.id desc
   limit $4`

/**
 * Incoming or outgoing payments, newest first; with the URL of a wallet address, only its own.
 *
 * @throws OperationRefused `invalid`, or `not-found` for the wallet address
 */
export async function listPayments(
  request: OperatorPage & { kind: OperatedPayment['kind']; walletAddress: string },
  deps: OperatorDeps
): Promise<OperatorPageResult<OperatedPayment>> {
  const { kind, walletAddress } = request
  const size = readPageSize(request)
  const after = readPlace(request.pageToken)
  const walletAddressId = walletAddress === '' ? undefined : (await findWalletAddress(walletAddress, deps)).id
  const { rows } = await deps.pool.query<PaymentRow>(selectPayments(kind), [
    walletAddressId ?? null,
    after === undefined ? null : new Date(after.createdAtMs),
    after?.id ?? null,
    size + 1
  ])
  return cutPage(
    rows,
    size,
    ({ created_at, id }) => formatCursor({ createdAtMs: created_at.getTime(), id }),
    (row) => toOperatedPayment(kind, row, deps)
  )
}

function toOperatedPayment(
  kind: OperatedPayment['kind'],
  row: PaymentRow,
  { urls, clock }: OperatorDeps
): OperatedPayment {
  const expired =
    row.state === 'pending' && row.expires_at !== null && row.expires_at.getTime() <= clock.now()
  return {
    id: row.id,
    kind,
    walletAddress: urls.ofWalletAddress(row.path),
    state: expired ? 'expired' : row.state,
    failureReason: row.failure_reason,
    value: row.value === null ? undefined : BigInt(row.value),
    movedValue: BigInt(row.moved_value),
    asset: { code: row.code, scale: row.scale },
    receiver: row.receiver,
    createdAt: row.created_at,
    updatedAt: row.updated_at
  }
}

function readPlace(pageToken: string): Position | undefined {
  if (pageToken === '') return undefined
  try {
    return parseCursor(pageToken)
  } catch (error) {
    if (error instanceof PublicError) throw unknownPageToken()
    throw error
  }
}
