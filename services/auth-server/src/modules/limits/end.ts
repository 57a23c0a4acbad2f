import { placeholder, Statement } from '@open-payments-server/database'
import type { End, FoundReservation, SettledValues } from '../../domain/ends.js'
import { Prisma, type Queries } from '../database.js'
import type { ReservationState } from './values.js'

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
      from json_to_recordset(${placeholder('wanted')}::json) as w(payment_id uuid, debited numeric, received numeric)),
  target as (
    select payment_id, r.access_item_id, r.interval_index, r.state::text as state, r.ended_at, r.debit, r.receive,
           r.settled_debit, r.settled_receive, a.debited, a.received,
           r.state::text = 'open' and (a.debited is null or a.debited <= r.debit and a.received <= r.receive) as fits,
           r.state::text = 'refused' and r.ended_at is null and a.debited is null as is_noted,
           a.debited is null or a.debited < r.debit or (r.receive_counted and a.received < r.receive) as gives_back
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
    select payment_id, t.debited, t.received
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
                        when l.debited is null then 'released' else 'settled' end::reservation_state,
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
     where w.access_item_id = any (array(select access_item_id from ended))
       and w.access_item_id = e.access_item_id and w.interval_index = e.interval_index
       and (e.debit > 0 or e.receive > 0)),
  barred as (
    insert into reservation (payment_id, state, ended_at)
    select payment_id, 'released', now()
      from wanted cross join (select count(*) as reservations from locked_reservation) as locked
     where debited is null and payment_id <> all (array(select payment_id from target)) and locked.reservations >= 0
     order by payment_id
    on conflict (payment_id) do nothing
    returning payment_id)
  select payment_id, t.state, coalesce(t.state = 'refused' and t.ended_at is not null, false) as is_released_refusal, t.debit::text, t.receive::text,
         t.settled_debit::text, t.settled_receive::text,
         exists (select 1 from ended e where e.payment_id = a.payment_id)
           or exists (select 1 from barred b where b.payment_id = a.payment_id) as ended
    from wanted a left join target t using (payment_id)`
)

/**
 * The result for one payment. All but `ended` are as they were before; null, and `is_released_refusal` false, if there was
 * nothing.
 */
interface EndRow {
  readonly payment_id: string
  readonly state: ReservationState | null
  readonly is_released_refusal: boolean
  readonly debit: string | null
  readonly receive: string | null
  readonly settled_debit: string | null
  readonly settled_receive: string | null
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
  const wanted = ends.map(({ paymentId, spent }) => ({
    payment_id: paymentId,
    debited: spent?.debited.toString(),
    received: spent?.received.toString()
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
  return {
    state,
    isReleasedRefusal: row.is_released_refusal,
    reserved: valuesOf(row.debit, row.receive),
    settled: valuesOf(row.settled_debit, row.settled_receive)
  }
}

function valuesOf(debited: string | null, received: string | null): SettledValues | undefined {
  return debited === null || received === null
    ? undefined
    : { debited: BigInt(debited), received: BigInt(received) }
}
