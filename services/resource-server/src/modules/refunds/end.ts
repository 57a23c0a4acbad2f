import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/** How a refund ends that a client's payment makes. */
export interface RefundEnding {
  /** Id (UUID) of the refund, and of the payment that makes it. */
  readonly id: string
  /** Id (UUID) of the payment whose delivery it gives back. */
  readonly refundOf: string
  /** What it was to take from the receiver. */
  readonly value: bigint
  /** What it took, without fees; 0 if it failed. */
  readonly settledValue: bigint
  /** What the payer got for it, in the payer's asset. */
  readonly returnedValue: bigint
}

/**
 * Fragment: the parts `ending` (`id`, `refund_of`), as {@link refundEndings} returns it, and `refunding`, which ends those of its
 * refunds that are still pending, with what each has `given_back`. Takes `now`.
 */
export const refundsEnded = Prisma.sql`
  ending as (
    select e.*, e.value - e.settled_value as given_back
      from json_to_recordset(${placeholder('refundEndings')}::json)
        as e(id uuid, refund_of uuid, value numeric, settled_value numeric, returned_value numeric)
  ), refunding as (
    update refund f
       set state = case when e.settled_value > 0 then 'completed' else 'failed' end, settled_value = e.settled_value,
           returned_value = e.returned_value, updated_at = greatest(f.updated_at, ${placeholder('now')}::timestamptz)
      from ending e
     where f.id = e.id and f.id = any (array(select id from ending)) and f.state = 'pending'
       and (f.refund_of, f.value) = (e.refund_of, e.value)
    returning f.*, e.given_back
  )`

/**
 * Fragment: the part `refunding`, which ends the refunds that the payments of the part `payment` (`id`) make, which send nothing, with
 * all of it `given_back`. Takes `now`.
 */
export const refundsFailed = Prisma.sql`
  refunding as (
    update refund f
       set state = 'failed', settled_value = 0, returned_value = 0, updated_at = greatest(f.updated_at, ${placeholder('now')}::timestamptz)
     where f.id = any (array(select id from payment)) and f.state = 'pending'
    returning f.*, f.value as given_back
  )`

/** The endings of {@link refundsEnded}. Numbers of arbitrary size are sent as text. */
export function refundEndings(endings: readonly RefundEnding[]): { readonly refundEndings: string } {
  return {
    refundEndings: JSON.stringify(
      endings.map(({ id, refundOf, value, settledValue, returnedValue }) => ({
        id,
        refund_of: refundOf,
        value: value.toString(),
        settled_value: settledValue.toString(),
        returned_value: returnedValue.toString()
      }))
    )
  }
}
