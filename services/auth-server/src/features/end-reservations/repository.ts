import type pg from 'pg'
import type { End } from '../../domain/ends.js'

/** Ends many reservations at a time. */
export interface EndReservationsRepository {
  /**
   * Ends those of the reservations that are open and hold as much as was spent, and gives the rest back to their windows.
   *
   * @param ends of different payments
   * @returns the payments whose reservations this statement ended
   */
  endMany(ends: readonly End[]): Promise<ReadonlySet<string>>
}

/**
 * What settling and releasing do, each in one statement, for many: prepared on the pool.
 *
 * All windows are locked before any reservation, and both in the order of their keys, as reserving for many does: so of two
 * statements that want the same rows one waits for the other, and never each for the other. Reading `locked` makes the
 * database lock all windows before the first reservation. What is not open any more when its row is locked is left alone.
 *
 * Reservations are looked up by their keys, and their state is compared as text: else a plan may read the index of all that are
 * open, which may be few, and thousands that were not vacuumed yet.
 */
const END_MANY = `
  with asked as (
    select * from unnest($1::uuid[], $2::numeric[], $3::numeric[]) as a (payment_id, debited, received)),
  target as (
    select payment_id, r.access_item_id, r.interval_index, a.debited, a.received,
           a.debited is null or a.debited < r.debit or (r.receive_counted and a.received < r.receive) as gives_back
      from asked a join reservation r using (payment_id)
     where r.payment_id = any ($1) and r.state::text = 'open'
       and (a.debited is null or a.debited <= r.debit and a.received <= r.receive)),
  locked_window as (
    select w.access_item_id
      from limit_window w
     where (w.access_item_id, w.interval_index) in
           (select access_item_id, interval_index from target where gives_back)
     order by w.access_item_id, w.interval_index
       for update),
  locked_reservation as (
    select payment_id, t.debited, t.received
      from target t
      join reservation r using (payment_id)
     cross join (select count(*) as windows from locked_window) as locked
     where r.state::text = 'open' and locked.windows >= 0
     order by payment_id
       for update of r),
  ended as (
    update reservation r
       set state = case when l.debited is null then 'released' else 'settled' end::reservation_state,
           settled_debit = l.debited, settled_receive = l.received, ended_at = now()
      from locked_reservation l
     where r.payment_id = l.payment_id
    returning r.payment_id, r.access_item_id, r.interval_index,
              r.debit - coalesce(l.debited, 0) as unspent_debit,
              case when r.receive_counted then r.receive - coalesce(l.received, 0) else 0 end as unspent_receive),
  given_back as (
    update limit_window w
       set debited = w.debited - e.debit, received = w.received - e.receive
      from (select access_item_id, interval_index, sum(unspent_debit) as debit, sum(unspent_receive) as receive
              from ended group by access_item_id, interval_index) as e
     where w.access_item_id = e.access_item_id and w.interval_index = e.interval_index
       and (e.debit > 0 or e.receive > 0))
  select payment_id from ended`

export function createEndReservationsRepository(pool: pg.Pool): EndReservationsRepository {
  return {
    async endMany(ends) {
      const { rows } = await pool.query<{ payment_id: string }>({
        name: 'end-many',
        text: END_MANY,
        values: [
          ends.map(({ paymentId }) => paymentId),
          ends.map(({ spent }) => spent?.debited.toString()),
          ends.map(({ spent }) => spent?.received.toString())
        ]
      })
      return new Set(rows.map((row) => row.payment_id))
    }
  }
}
