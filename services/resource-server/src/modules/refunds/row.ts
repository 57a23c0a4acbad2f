import { type Refund, type RefundState, SHOWN_REFUNDS_MAX } from '../../domain/refund.js'
import { Prisma } from '../database.js'
import { assetById } from '../ledger/index.js'

/** The columns of a {@link RefundRow}: `f` is the refund, joined by {@link REFUND_JOINS}. */
export const REFUND_COLUMNS = Prisma.sql`
  f.id, f.refund_of, f.payment_id, f.state, f.value::text, f.settled_value::text, f.returned_value::text,
  f.returned_fee_value::text, f.created_by, f.created_at, f.updated_at, fa.code, fa.scale, fr.code as returned_code,
  fr.scale as returned_scale`

/** Joins both assets to the refunds `f`: one row for each refund. */
export const REFUND_JOINS = Prisma.sql`
  ${assetById(Prisma.sql`f.asset_id`, Prisma.sql`fa`)} ${assetById(Prisma.sql`f.returned_asset_id`, Prisma.sql`fr`)}`

/** A refund as the database returns it: numbers of arbitrary size are text. */
export interface RefundRow {
  readonly id: string
  readonly refund_of: string
  readonly payment_id: string | null
  readonly state: RefundState
  readonly value: string
  readonly settled_value: string | null
  readonly returned_value: string | null
  readonly returned_fee_value: string
  readonly created_by: string | null
  /** Text where rows are part of another. */
  readonly created_at: Date | string
  readonly updated_at: Date | string
  readonly code: string
  readonly scale: number
  readonly returned_code: string
  readonly returned_scale: number
}

/** Reads a row. */
export function readRefundRow(row: RefundRow): Refund {
  return {
    id: row.id,
    refundOf: row.refund_of,
    paymentId: row.payment_id ?? undefined,
    state: row.state,
    asset: { code: row.code, scale: row.scale },
    value: BigInt(row.value),
    settledValue: row.settled_value === null ? undefined : BigInt(row.settled_value),
    returnedAsset: { code: row.returned_code, scale: row.returned_scale },
    returnedValue: row.returned_value === null ? undefined : BigInt(row.returned_value),
    returnedFeeValue: BigInt(row.returned_fee_value),
    createdBy: row.created_by ?? undefined,
    createdAtMs: new Date(row.created_at).getTime(),
    updatedAtMs: new Date(row.updated_at).getTime()
  }
}

const SHOWN_MAX = Prisma.raw(String(SHOWN_REFUNDS_MAX))

/** The column that a payment names its refunds by. */
const OF = {
  outgoing: Prisma.sql`f.refund_of`,
  incoming: Prisma.sql`f.incoming_payment_id`
} as const

/** Keeps a plan that is made while there are few refunds from reading all of them in the order that is wanted. */
const LOOKED_UP = Prisma.sql`offset 0`

/**
 * Fragment, an expression: the newest refunds of a payment that did not fail, as JSON for {@link readRefundRow}; null if there
 * are none.
 *
 * @param paymentId names the payment's id
 */
export function shownRefunds(kind: keyof typeof OF, paymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(
    select json_agg(newest) from (
      select ${REFUND_COLUMNS} from (
        select * from refund f where ${OF[kind]} = ${paymentId} and f.state <> 'failed' ${LOOKED_UP}) f ${REFUND_JOINS}
       order by f.created_at desc, f.id desc limit ${SHOWN_MAX}) newest)`
}

/** Reads what {@link shownRefunds} selects. */
export function readShownRefunds(rows: readonly RefundRow[] | null): readonly Refund[] {
  return rows?.map(readRefundRow) ?? []
}

/**
 * Fragment, an expression: what refunds took, or are to take, of what an incoming payment received, as text.
 *
 * @param incomingPaymentId names the incoming payment's id
 */
export function refundedOfIncoming(incomingPaymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(
    select coalesce(sum(coalesce(f.settled_value, f.value)), 0)::text from refund f
     where f.incoming_payment_id = ${incomingPaymentId})`
}

/**
 * Fragment, an expression: the id of the payment that the payments to an incoming payment refund, if they do. Of several, that
 * of the first.
 *
 * @param incomingPaymentId names the incoming payment's id
 */
export function refundedTo(incomingPaymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(
    select f.refund_of from (
      select * from refund f where f.returned_to = ${incomingPaymentId} and f.state <> 'failed' ${LOOKED_UP}) f
     order by f.created_at, f.id limit 1)`
}

/**
 * Fragment, a condition: whether a client's refund was to be paid to an incoming payment, even one that failed: it names the incoming
 * payment for good. Looked up for each: from `exists`, PostgreSQL may make a hash of all refunds.
 *
 * @param incomingPaymentId names the incoming payment's id
 */
export function isReturnedTo(incomingPaymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select true from refund f where f.returned_to = ${incomingPaymentId} limit 1) is not null`
}
