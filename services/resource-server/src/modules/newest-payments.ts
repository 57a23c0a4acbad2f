import { instantText } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { FailureReason } from '../domain/failure-reasons.js'
import type { OutgoingPaymentState } from '../domain/outgoing-payment.js'
import { Prisma, type Queries } from './database.js'
import { WALLET_ADDRESS } from './wallet-addresses/index.js'

/** Which payments an operator lists. */
export interface NewestRange {
  /** Id (UUID) of a wallet address; undefined for those of all. */
  readonly walletAddressId: string | undefined
  /** Only older ones than at this position; undefined starts with the newest. */
  readonly after: PageEnd | undefined
  readonly limit: number
}

/** A payment in an operator's list. Values are in units of its asset. */
export interface ListedPayment extends PageEnd {
  /** Path of its wallet address. */
  readonly path: string
  readonly state: OutgoingPaymentState
  /** Undefined for outgoing payments. */
  readonly expiresAtMs: number | undefined
  /** Undefined unless it failed. */
  readonly failureReason: FailureReason | undefined
  /** Incoming amount or debit amount; undefined when open. */
  readonly value: bigint | undefined
  /** Amount actually received, or actually sent. */
  readonly movedValue: bigint
  readonly asset: Asset
  /** URL of the incoming payment that an outgoing payment pays; empty for incoming payments. */
  readonly receiver: string
  /** What refunds took of what it delivered or received, or are to take. */
  readonly refundedValue: bigint
  /** The receiver's asset. */
  readonly refundedAsset: Asset
  /** Id (UUID) of the outgoing payment that it, or the payments to it, refund; undefined unless they do. */
  readonly refundOf: string | undefined
  readonly updatedAtMs: number
}

interface NewestRow {
  readonly id: string
  readonly path: string
  readonly state: ListedPayment['state']
  readonly expires_at: Date | null
  readonly failure_reason: FailureReason | null
  readonly value: string | null
  readonly moved_value: string
  readonly code: string
  readonly scale: number
  readonly receiver: string
  readonly refunded_value: string | null
  /** Null where it is the asset of the payment. */
  readonly receive_code: string | null
  readonly receive_scale: number | null
  readonly refund_of: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

/**
 * Creates a function that lists payments of one kind for operators, newest first.
 *
 * @param kind.table the payments `p`
 * @param kind.columns those in which the kinds differ: `state`, `expires_at`, `failure_reason`, `value`, `moved_value`,
 *   `receiver`, `refunded_value`, `refund_of`, and `receive_code` and `receive_scale` of the receiver's asset
 * @param kind.joins joins other tables to the payments, one row each; none unless given
 */
export function createNewestPayments(kind: {
  readonly table: Prisma.Sql
  readonly columns: Prisma.Sql
  readonly joins?: Prisma.Sql
}): (on: Queries, range: NewestRange) => Promise<readonly ListedPayment[]> {
  return async (on, range) => (await on.$queryRaw<NewestRow[]>(selectNewest(kind, range))).map(readRow)
}

/**
 * Keyset pagination over the matching index: Prisma's models cannot compare rows. Operators list rarely, so it is planned
 * anew for each range.
 */
function selectNewest(
  {
    table,
    columns,
    joins = Prisma.empty
  }: { readonly table: Prisma.Sql; readonly columns: Prisma.Sql; readonly joins?: Prisma.Sql },
  { walletAddressId, after, limit }: NewestRange
): Prisma.Sql {
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
      from ${table} p ${WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)} ${joins}
     where true ${ofWalletAddress} ${afterPosition}
     order by p.created_at desc, p.id desc
     limit ${limit}::integer`
}

function readRow(row: NewestRow): ListedPayment {
  return {
    id: row.id,
    path: row.path,
    state: row.state,
    expiresAtMs: row.expires_at?.getTime(),
    failureReason: row.failure_reason ?? undefined,
    value: row.value === null ? undefined : BigInt(row.value),
    movedValue: BigInt(row.moved_value),
    asset: { code: row.code, scale: row.scale },
    receiver: row.receiver,
    refundedValue: BigInt(row.refunded_value ?? 0),
    refundedAsset: { code: row.receive_code ?? row.code, scale: row.receive_scale ?? row.scale },
    refundOf: row.refund_of ?? undefined,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime()
  }
}
