import { instantText } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { FAILURE_REASONS, type FailureReason } from '../../domain/failure-reasons.js'
import { formatCursor, parseCursor, type Position } from '../../domain/pagination.js'
import { Prisma } from '../../modules/database.js'
import { WALLET_ADDRESS } from '../../modules/wallet-addresses/index.js'
import type { OperatorDependencies } from './dependencies.js'
import {
  cutPage,
  type OperatorPage,
  type OperatorPageResult,
  readPageSize,
  unknownPageToken
} from '../../domain/operator-pages.js'
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

interface PaymentRow {
  readonly id: string
  readonly path: string
  readonly state: OperatedPayment['state']
  /** Null for outgoing payments. */
  readonly expires_at: Date | null
  readonly failure_reason: FailureReason | null
  readonly value: string | null
  readonly moved_value: string
  readonly code: string
  readonly scale: number
  readonly receiver: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** The differences between the two kinds. */
const KINDS: Readonly<Record<OperatedPayment['kind'], { table: Prisma.Sql; columns: Prisma.Sql }>> = {
  incoming: {
    table: Prisma.sql`incoming_payment`,
    columns: Prisma.sql`case when p.completed then 'completed' else 'pending' end as state, p.expires_at,
      null as failure_reason, p.incoming_value::text as value, p.received_value::text as moved_value, '' as receiver`
  },
  outgoing: {
    table: Prisma.sql`outgoing_payment`,
    columns: Prisma.sql`p.state::text, null::timestamptz as expires_at, p.failure_reason::text,
      p.debit_value::text as value, p.sent_value::text as moved_value, p.receiver`
  }
}

/** Keyset pagination over the matching index: Prisma's models cannot compare rows. */
function selectPayments(
  kind: OperatedPayment['kind'],
  walletAddressId: string | undefined,
  after: Position | undefined,
  limit: number
): Prisma.Sql {
  const { table, columns } = KINDS[kind]
  const ofWalletAddress =
    walletAddressId === undefined
      ? Prisma.empty
      : Prisma.sql`and p.wallet_address_id = ${walletAddressId}::uuid`
  const afterPosition =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`and (p.created_at, p.id)
                       < (${instantText(after.createdAtMs)}::timestamptz, ${after.id}::uuid)`
  return Prisma.sql`
    select p.id, w.path, ${columns}, s.code, s.scale, p.created_at, p.updated_at
      from ${table} p ${WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)}
     where true ${ofWalletAddress} ${afterPosition}
     order by p.created_at desc, p.id desc
     limit ${limit}::integer`
}

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
  const rows = await dependencies.database.$queryRaw<PaymentRow[]>(
    selectPayments(kind, walletAddressId, after, size + 1)
  )
  return cutPage(
    rows,
    size,
    ({ created_at, id }) => formatCursor({ createdAtMs: created_at.getTime(), id }),
    (row) => toOperatedPayment(kind, row, dependencies)
  )
}

function toOperatedPayment(
  kind: OperatedPayment['kind'],
  row: PaymentRow,
  { urls, clock }: OperatorDependencies
): OperatedPayment {
  const expired =
    row.state === 'pending' && row.expires_at !== null && row.expires_at.getTime() <= clock.now()
  return {
    id: row.id,
    kind,
    walletAddress: urls.ofWalletAddress(row.path),
    state: expired ? 'expired' : row.state,
    failure:
      row.failure_reason === null
        ? undefined
        : { reason: row.failure_reason, meaning: FAILURE_REASONS[row.failure_reason] },
    value: row.value === null ? undefined : BigInt(row.value),
    movedValue: BigInt(row.moved_value),
    asset: { code: row.code, scale: row.scale },
    receiver: row.receiver,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime()
  }
}

function readPlace(pageToken: string): Position | undefined {
  if (pageToken === '') return undefined
  const place = parseCursor(pageToken)
  if (place === undefined) throw unknownPageToken()
  return place
}
