import {
  bytesText,
  instantText,
  isUniqueViolation,
  placeholder,
  Statement
} from '@open-payments-server/database'
import type { LostReservation, Window } from '../../domain/limits.js'
import { Prisma, type Queries } from '../database.js'
import { ITEM_LIMITS } from '../grants/index.js'
import { LARGEST_VALUE } from './values.js'
import { GROWN_WINDOW, RESERVATION_COLUMNS, WINDOW_COLUMNS } from './windows.js'

/**
 * The counter first, and the reservation from its row, as `reserve` does and for the same reasons. No token is asked for: the
 * payment was made with one.
 */
const RESTORE = new Statement<{ readonly payment_id: string }>(
  'restore-reservation',
  Prisma.sql`
  with wanted as (
    select *
      from json_to_recordset(${placeholder('wanted')}::json)
        as w(payment_id uuid, content_hash bytea, grant_id uuid, access_item_id uuid, interval_index bigint, debit_value numeric,
             debit_code text, debit_scale smallint, receive_value numeric, receive_code text, receive_scale smallint,
             spent_debit_value numeric, spent_receive_value numeric, wallet_address text, receiver text, charged_at timestamptz)),
  possible as (
    select a.*, i.limit_debit_value, i.limit_receive_value
      from wanted a join ${ITEM_LIMITS} i on i.access_item_id = a.access_item_id and i.grant_id = a.grant_id
     where not exists (select 1 from reservation r where r.payment_id = a.payment_id)
       and a.debit_value <= coalesce(i.limit_debit_value, ${LARGEST_VALUE})
       and a.receive_value <= coalesce(i.limit_receive_value, ${LARGEST_VALUE})),
  room as (
    insert into limit_window as w (${WINDOW_COLUMNS})
    select access_item_id, interval_index, debit_value, receive_value, debit_code, debit_scale, receive_code, receive_scale,
           limit_debit_value, limit_receive_value, charged_at
      from possible
    ${GROWN_WINDOW}
    returning w.receive_code as counted_code, w.receive_scale as counted_scale),
  restored as (
    insert into reservation (${RESERVATION_COLUMNS})
    select payment_id, 'open', content_hash, grant_id, access_item_id, interval_index,
           debit_value, debit_code, debit_scale, receive_value, receive_code, receive_scale,
           receive_code = counted_code and receive_scale = counted_scale, spent_debit_value, spent_receive_value,
           wallet_address, receiver, charged_at
      from possible cross join room
    returning payment_id)
  select payment_id from restored`
)

/**
 * Records a reservation anew in a window that has room for it, unless something is recorded under its payment id.
 *
 * @returns whether it was recorded
 */
export async function restore(
  on: Queries,
  { paymentId, grantId, content, contentHash, chargedAtMs, spent }: LostReservation,
  window: Window
): Promise<boolean> {
  const { debitAmount, receiveAmount, walletAddress, receiver } = content
  const wanted = {
    payment_id: paymentId,
    content_hash: bytesText(contentHash),
    grant_id: grantId,
    access_item_id: window.accessItemId,
    interval_index: window.intervalIndex.toString(),
    debit_value: debitAmount.value.toString(),
    debit_code: debitAmount.asset.code,
    debit_scale: debitAmount.asset.scale,
    receive_value: receiveAmount.value.toString(),
    receive_code: receiveAmount.asset.code,
    receive_scale: receiveAmount.asset.scale,
    spent_debit_value: spent.spentDebitValue.toString(),
    spent_receive_value: spent.spentReceiveValue.toString(),
    wallet_address: walletAddress,
    receiver,
    charged_at: instantText(chargedAtMs)
  }
  try {
    return (await RESTORE.rows(on, { wanted: JSON.stringify([wanted]) })).length > 0
  } catch (error) {
    // A twin was recorded meanwhile, and the whole statement was undone.
    if (isUniqueViolation(error, 'reservation_pkey')) return false
    throw error
  }
}

/**
 * Reads what identifies the request that something is recorded for under a payment id.
 *
 * @returns undefined when nothing is recorded; a content hash that is undefined for an id that was released before it was reserved
 */
export async function findRecorded(
  on: Queries,
  paymentId: string
): Promise<{ readonly contentHash: Buffer | undefined } | undefined> {
  const found = await on.reservation.findUnique({ where: { paymentId }, select: { contentHash: true } })
  if (found === null) return undefined
  return { contentHash: found.contentHash === null ? undefined : Buffer.from(found.contentHash) }
}
