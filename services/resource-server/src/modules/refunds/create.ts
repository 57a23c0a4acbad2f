import { bytesText, placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/** A refund that the provider makes. */
export interface NewRefund {
  /** Id (UUID). */
  readonly id: string
  /** Id (UUID) of the payment whose delivery it gives back. */
  readonly refundOf: string
  /** What it takes from the receiver, in the receiver's asset; above 0. */
  readonly value: bigint
  /** Whether the payer also gets the fee back, in proportion. */
  readonly returnsFee: boolean
  /** Identifies repetitions of the request; undefined without an idempotency key. */
  readonly identity: RefundIdentity | undefined
  /** Names of whoever makes it; undefined if they are not known. */
  readonly createdBy: string | undefined
}

/** Identifies a request for a refund. */
export interface RefundIdentity {
  /** SHA-256 of the idempotency key. */
  readonly idempotencyHash: Buffer
  /** SHA-256 of everything that was asked for with it. */
  readonly requestHash: Buffer
}

/**
 * Fragment: the part `asked`, one refund of the provider, as {@link askedRefund} returns it. It is empty if there is a refund with
 * its key already.
 */
export const asked = Prisma.sql`
  wanted as materialized (
    select ${placeholder('id')}::uuid as id, ${placeholder('refundOf')}::uuid as refund_of, ${placeholder('value')}::numeric as value,
           ${placeholder('returnsFee')}::boolean as returns_fee, ${placeholder('idempotencyHash')}::bytea as idempotency_hash,
           ${placeholder('requestHash')}::bytea as request_hash, ${placeholder('createdBy')}::text as created_by,
           ${placeholder('now')}::timestamptz as now
  ), asked as (
    select * from wanted where not exists (select 1 from refund f where f.idempotency_hash = wanted.idempotency_hash)
  )`

/** The parameters of {@link asked}, except `now`. Numbers of arbitrary size are sent as text. */
export function askedRefund({
  identity,
  createdBy,
  ...refund
}: NewRefund): Readonly<Record<string, unknown>> {
  return {
    ...refund,
    value: refund.value.toString(),
    createdBy: createdBy ?? null,
    idempotencyHash: identity ? bytesText(identity.idempotencyHash) : null,
    requestHash: identity ? bytesText(identity.requestHash) : null
  }
}

/**
 * Fragment, an expression: the share of an amount that falls on a part of what it paid for. Cumulative and rounded down, so that
 * the shares of all parts together are exactly the whole, whichever parts these are.
 *
 * @param amount what the whole cost
 * @param part.from where the part begins, and `part.to` where it ends; from 0 to `whole`
 */
export function shareOf(
  amount: Prisma.Sql,
  part: { readonly from: Prisma.Sql; readonly to: Prisma.Sql },
  whole: Prisma.Sql
): Prisma.Sql {
  return Prisma.sql`div((${part.to}) * ${amount}, ${whole}) - div((${part.from}) * ${amount}, ${whole})`
}

const PART = {
  from: Prisma.sql`original.provider_refunded_value`,
  to: Prisma.sql`original.provider_refunded_value + asked.value`
} as const
const WHOLE = Prisma.sql`original.settled_receive_value`

/**
 * Fragment: inserts the refund of the part {@link asked}, if its payment delivered so much that was not refunded yet, and the
 * receiver has the money. Reads the parts `original` (`id`, `settled_receive_value`, `refunded_value`, `provider_refunded_value`),
 * the locked payment; `route`, where its money went; and `party` (`id`, `available`), both locked accounts. The part `refunding` is
 * the refund. A key that a concurrent request just used leaves it empty.
 */
export const refunded = Prisma.sql`
  refunding as (
    insert into refund (id, refund_of, incoming_payment_id, state, asset_id, value, settled_value, from_value, returned_asset_id,
                        returned_value, returns_fee, returned_fee_value, idempotency_hash, request_hash, created_by, created_at, updated_at)
    select asked.id, original.id, route.incoming_payment_id, 'completed', route.receiver_asset_id, asked.value, asked.value,
           original.provider_refunded_value, route.payer_asset_id,
           ${shareOf(Prisma.sql`route.net_value`, PART, WHOLE)}, asked.returns_fee,
           case when asked.returns_fee then ${shareOf(Prisma.sql`route.fee_value`, PART, WHOLE)} else 0 end,
           asked.idempotency_hash, asked.request_hash, asked.created_by, asked.now, asked.now
      from asked cross join original cross join route join party on party.id = route.receiver_account_id
     where original.refunded_value + asked.value <= original.settled_receive_value and party.available >= asked.value
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning *
  )`

/** What a client's payment refunds. */
export interface RefundByPayment {
  /** Id (UUID) of the payment whose delivery it gives back. */
  readonly refundOf: string
  /** Id (UUID) of the incoming payment that this was delivered to. */
  readonly incomingPaymentId: string
  /** Ids of the assets of its receiver, who pays now, and of its payer. */
  readonly assetId: number
  readonly returnedAssetId: number
}

/**
 * Fragment: the part `refunding`, the refund that a persisted payment makes. Reads the parts `payment` (`id`) and `wanted` (`id`,
 * `refund_of`, `incoming_payment_id`, `debit_value`, `fee_value`), of one payment, and takes what {@link refundByPayment} returns
 * and `now`.
 */
export const refundedByPayment = Prisma.sql`
  refunding as (
    insert into refund (id, payment_id, refund_of, incoming_payment_id, returned_to, state, asset_id, value, returned_asset_id,
                        returns_fee, created_at, updated_at)
    select id, id, refund_of, ${placeholder('refundedIncomingPaymentId')}::uuid, incoming_payment_id, 'pending',
           ${placeholder('refundAssetId')}::integer, debit_value - fee_value, ${placeholder('returnedAssetId')}::integer, false,
           ${placeholder('now')}::timestamptz, ${placeholder('now')}::timestamptz
      from payment join wanted using (id)
    returning *
  )`

/** The parameters of {@link refundedByPayment}, except `now`. */
export function refundByPayment(refund: RefundByPayment): Readonly<Record<string, unknown>> {
  return {
    refundedIncomingPaymentId: refund.incomingPaymentId,
    refundAssetId: refund.assetId,
    returnedAssetId: refund.returnedAssetId
  }
}
