import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/**
 * Fragment: adds what incoming payments receive, and completes those that have received their full amount. Takes `now` and
 * what {@link receipts} returns; the rows must be locked. The part `receipt` has a row for each that must receive, and `received`
 * the new values of each that did.
 */
export const received = Prisma.sql`
  receipt as (
    select * from json_to_recordset(${placeholder('receipts')}::json) as r(id uuid, delivered numeric)
  ), received as (
    update incoming_payment i
       set received_value = i.received_value + r.delivered,
           completed = i.completed or i.received_value + r.delivered >= i.incoming_value is true,
           updated_at = greatest(i.updated_at, ${placeholder('now')}::timestamptz)
      from receipt r
     where i.id = r.id and i.id = any (array(select id from receipt))
    returning i.id, i.received_value, i.completed, i.updated_at, i.wallet_address_id
  )`

/**
 * The parameters of {@link received}: what each incoming payment receives, by its id. Numbers of arbitrary size are sent as
 * text.
 */
export function receipts(delivered: ReadonlyMap<string, bigint>): { readonly receipts: string } {
  return {
    receipts: JSON.stringify([...delivered].map(([id, value]) => ({ id, delivered: value.toString() })))
  }
}
