import { placeholder, Statement } from '@open-payments-server/database'
import type { End, FoundReservation } from '../../domain/ends.js'
import { Prisma, type Queries } from '../database.js'
import { type ReservationState, type SettledColumns, settledOf } from './values.js'

/**
 * All ends of reservations: settlements, releases, releases of refusals (recorded and kept for good: an id that was given
 * up stays given up on both sides), and releases of ids without a reservation. The latter are inserted: a reservation that
 * arrives later, or is being written now, fails on the primary key, or makes this insert do nothing.
 *
 * To avoid deadlocks, all windows are locked before any reservation, these before anything is inserted, and each in the
 * order of its keys, as reserving does. Counting a locking part makes the database finish it first. A window is not locked
 * for a payment that used everything it had reserved. A reservation that is no longer open when its row is locked is left
 * alone.
 *
 * Reservations and windows are looked up by their keys, and states are compared as text: otherwise a plan may read all
 * windows, or the index of all open reservations, with thousands of entries that were not vacuumed yet.
 */
const END = new Statement<EndRow>(
  'end-reservations',
  Prisma.sql`
  with wanted as (
    select *
      from json_to_recordset(${placeholder('wanted')}::json)
        as w(payment_id uuid, settled_debit_value numeric, settled_receive_value numeric)),
  target as (
    select payment_id, r.access_item_id, r.interval_index, r.state::text as state, r.ended_at, r.debit_value,
           r.receive_value, r.settled_debit_value as former_settled_debit_value,
           r.settled_receive_value as former_settled_receive_value,
           a.settled_debit_value, a.settled_receive_value,
           r.state::text = 'open' and (a.settled_debit_value is null or a.settled_debit_value <= r.debit_value
             and a.settled_receive_value <= r.receive_value) as fits,
           r.state::text = 'refused' and r.ended_at is null and a.settled_debit_value is null as is_noted,
           a.settled_debit_value is null or a.settled_debit_value < r.debit_value
             or (r.receive_counted and a.settled_receive_value < r.receive_value) as gives_back
      from wanted a join reservation r using (payment_id)
     where r.payment_id = any (array(select payment_id from wanted))),
  locked_window as (
    select w.access_item_id
      from limit_window w
     where w.access_item_id = any (array(select access_item_id from target where fits and gives_back))
       and (w.access_item_id, w.interval_index) in
           (select access_item_id, interval_index from target where fits and gives_back)
     order by w.access_item_id, w.interval_index
       for update),
  locked_reservation as (
    select payment_id, t.settled_debit_value, t.settled_receive_value
      from target t
      join reservation r using (payment_id)
     cross join (select count(*) as windows from locked_window) as locked
     where (t.fits and r.state::text = 'open' or t.is_noted and r.state::text = 'refused' and r.ended_at is null)
       and locked.windows >= 0
     order by payment_id
       for update of r),
  ended as (
    update reservation r
       set state = case when r.state::text = 'refused' then 'refused'
                        when l.settled_debit_value is null then 'released' else 'settled' end::reservation_state,
           settled_debit_value = l.settled_debit_value, settled_receive_value = l.settled_receive_value,
           ended_at = now()
      from locked_reservation l
     where r.payment_id = l.payment_id
    returning r.payment_id, r.access_item_id, r.interval_index,
              r.debit_value - coalesce(l.settled_debit_value, 0) as unspent_debit_value,
              case when r.receive_counted then r.receive_value - coalesce(l.settled_receive_value, 0) else 0 end
                as unspent_receive_value),
  given_back as (
    update limit_window w
       set spent_debit_value = w.spent_debit_value - e.unspent_debit_value,
           spent_receive_value = w.spent_receive_value - e.unspent_receive_value
      from (select access_item_id, interval_index, sum(unspent_debit_value) as unspent_debit_value,
                   sum(unspent_receive_value) as unspent_receive_value
              from ended group by access_item_id, interval_index) as e
     where w.access_item_id = any (array(select access_item_id from ended))
       and w.access_item_id = e.access_item_id and w.interval_index = e.interval_index
       and (e.unspent_debit_value > 0 or e.unspent_receive_value > 0)),
  barred as (
    insert into reservation (payment_id, state, ended_at)
    select payment_id, 'released', now()
      from wanted cross join (select count(*) as reservations from locked_reservation) as locked
     where settled_debit_value is null and payment_id <> all (array(select payment_id from target))
       and locked.reservations >= 0
     order by payment_id
    on conflict (payment_id) do nothing
    returning payment_id)
  select payment_id, t.state, coalesce(t.state = 'refused' and t.ended_at is not null, false) as is_released_refusal,
         t.debit_value::text, t.receive_value::text, t.former_settled_debit_value::text as settled_debit_value,
         t.former_settled_receive_value::text as settled_receive_value,
         exists (select 1 from ended e where e.payment_id = a.payment_id)
           or exists (select 1 from barred b where b.payment_id = a.payment_id) as ended
    from wanted a left join target t using (payment_id)`
)

/**
 * The result for one payment. All but `ended` are as they were before; null, and `is_released_refusal` false, if there was
 * nothing.
 */
interface EndRow extends SettledColumns {
  readonly payment_id: string
  readonly state: ReservationState | null
  readonly is_released_refusal: boolean
  readonly debit_value: string | null
  readonly receive_value: string | null
  readonly ended: boolean
}

/**
 * Ends reservations that are open and have at least the spent amounts reserved, and returns the rest to their windows. For
 * refusals and unknown payments that are to be released, it records the release.
 *
 * @param ends of different payments
 * @returns what was found for each, and whether it was ended
 */
export async function end(
  on: Queries,
  ends: readonly End[]
): Promise<readonly (FoundReservation & { readonly asked: End })[]> {
  const wanted = ends.map(({ paymentId, settled }) => ({
    payment_id: paymentId,
    settled_debit_value: settled?.settledDebitValue.toString(),
    settled_receive_value: settled?.settledReceiveValue.toString()
  }))
  const rows = await END.rows(on, { wanted: JSON.stringify(wanted) })
  const rowOf = new Map(rows.map((row) => [row.payment_id, row]))
  return ends.map((asked) => {
    const row = rowOf.get(asked.paymentId)
    if (row === undefined) throw new Error('a statement that answers a row for each payment left one out')
    return { asked, ended: row.ended, before: row.state === null ? undefined : beforeOf(row, row.state) }
  })
}

function beforeOf(row: EndRow, state: ReservationState): FoundReservation['before'] {
  const { debit_value: debit, receive_value: receive } = row
  return {
    state,
    isReleasedRefusal: row.is_released_refusal,
    reserved:
      debit === null || receive === null
        ? undefined
        : { debitValue: BigInt(debit), receiveValue: BigInt(receive) },
    settled: settledOf(row)
  }
}
