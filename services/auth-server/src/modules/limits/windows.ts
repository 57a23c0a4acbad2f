import { Prisma } from '../database.js'
import { LARGEST_VALUE } from './values.js'

/** Fragment: the columns of `limit_window` that a new window has. */
export const WINDOW_COLUMNS = Prisma.sql`
  access_item_id, interval_index, spent_debit_value, spent_receive_value, debit_code, debit_scale, receive_code, receive_scale,
  limit_debit_value, limit_receive_value, last_charged_at`

/**
 * Fragment, the end of an insert into `limit_window as w`: a window that is there grows by what would be inserted, if it has room
 * under its own limits and under those that would be inserted, which may have been lowered since.
 * What is received in another asset than the window's is not in its counter: only a payment that is alone in the part `wanted` may be.
 */
export const GROWN_WINDOW = Prisma.sql`
  on conflict (access_item_id, interval_index) do update
     set spent_debit_value = w.spent_debit_value + excluded.spent_debit_value,
         spent_receive_value = w.spent_receive_value + case
           when w.receive_code = excluded.receive_code and w.receive_scale = excluded.receive_scale
           then excluded.spent_receive_value else 0 end,
         last_charged_at = greatest(w.last_charged_at, excluded.last_charged_at)
   where w.debit_code = excluded.debit_code and w.debit_scale = excluded.debit_scale
     and w.spent_debit_value + excluded.spent_debit_value
           <= coalesce(least(w.limit_debit_value, excluded.limit_debit_value), ${LARGEST_VALUE})
     and case when w.receive_code = excluded.receive_code and w.receive_scale = excluded.receive_scale
              then w.spent_receive_value + excluded.spent_receive_value
                   <= coalesce(least(w.limit_receive_value, excluded.limit_receive_value), ${LARGEST_VALUE})
              else (select count(*) = 1 from wanted) end`

/** Fragment: the columns of a `reservation` that is recorded. */
export const RESERVATION_COLUMNS = Prisma.sql`
  payment_id, state, content_hash, grant_id, access_item_id, interval_index, debit_value, debit_code, debit_scale,
  receive_value, receive_code, receive_scale, receive_counted, spent_debit_value, spent_receive_value, wallet_address,
  receiver, charged_at`
