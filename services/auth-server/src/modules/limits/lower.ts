import { Prisma } from '../database.js'
import { ITEM_LIMITS } from '../grants/index.js'
import type { CountedWindow } from './refuse.js'

/**
 * Fragment: lowers the limits of the windows of `lowered_item (access_item_id, from_index, limit_debit_value, limit_receive_value)` from
 * that interval on. What is spent stays spent: no window gets a limit below it. Windows are locked in the order of their keys, as
 * reserving and ending do. Returns `lowered_window`, see {@link COUNTED}.
 */
export const loweredWindows = Prisma.sql`
  locked_window as (
    select w.access_item_id, w.interval_index
      from lowered_item l join limit_window w on w.access_item_id = l.access_item_id and w.interval_index >= l.from_index
     where w.access_item_id = any (array(select access_item_id from lowered_item))
     order by w.access_item_id, w.interval_index
       for update of w),
  lowered_window as (
    update limit_window w
       set limit_debit_value = case when l.limit_debit_value is null then w.limit_debit_value
             else least(w.limit_debit_value, greatest(l.limit_debit_value, w.spent_debit_value)) end,
           limit_receive_value = case when l.limit_receive_value is null then w.limit_receive_value
             else least(w.limit_receive_value, greatest(l.limit_receive_value, w.spent_receive_value)) end
      from locked_window k join lowered_item l using (access_item_id)
     where w.access_item_id = any (array(select access_item_id from lowered_item))
       and w.access_item_id = k.access_item_id and w.interval_index = k.interval_index
    returning w.access_item_id, w.interval_index, w.spent_debit_value, w.spent_receive_value)`

/** What the windows of {@link loweredWindows} had counted, as JSON. */
export const COUNTED = Prisma.sql`(
    select coalesce(jsonb_agg(jsonb_build_object(
             'accessItemId', access_item_id, 'intervalIndex', interval_index::text,
             'spentDebitValue', spent_debit_value::text, 'spentReceiveValue', spent_receive_value::text)), '[]')
      from lowered_window)`

/** The last windows of an access item that are read: a replica whose clock is ahead may have begun the next one. */
const LATEST_COUNT = Prisma.raw('2')

/** A window as {@link latestWindowsOf} selects it. */
export interface StoredWindow extends CountedWindow {
  readonly intervalIndex: string
  /** ISO 8601; null for one that was never charged since this is kept. */
  readonly lastChargedAt: string | null
}

/**
 * Selects the last windows of each access item of a grant, as JSON of {@link StoredWindow}s.
 *
 * @param grantId names the grant's id
 */
export function latestWindowsOf(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(
    select coalesce(json_agg(json_build_object(
             'accessItemId', w.access_item_id, 'intervalIndex', w.interval_index::text,
             'spentDebitValue', w.spent_debit_value::text, 'debitCode', w.debit_code, 'debitScale', w.debit_scale,
             'spentReceiveValue', w.spent_receive_value::text, 'receiveCode', w.receive_code, 'receiveScale', w.receive_scale,
             'lastChargedAt', w.last_charged_at)), '[]')
      from ${ITEM_LIMITS} i
     cross join lateral (
       select * from limit_window where access_item_id = i.access_item_id order by interval_index desc limit ${LATEST_COUNT}) w
     where i.grant_id = ${grantId})`
}
