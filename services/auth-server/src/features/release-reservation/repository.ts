import type pg from 'pg'

/** What became of a release. */
export type ReleaseResult =
  /** This statement released it. */
  | 'ended'
  /** This statement made sure that the payment id will never hold room. */
  | 'barred'
  /** Its state when the statement began. */
  | 'open'
  | 'settled'
  | 'released'
  | 'refused'
  /** It was not there when the statement began, and was there before it ended. */
  | 'appeared'
  /** A refusal was there when the statement began, and was noted or purged before it ended. */
  | 'gone'

/** Releases reservations. */
export interface ReleaseReservationRepository {
  /**
   * Ends an open reservation and gives all it held back to the window it was taken from. For an unknown payment it records
   * that it was released. A refusal is noted to be released, too, and is kept for good from then on: a payment id that was
   * given up stays given up on both sides.
   */
  release(paymentId: string): Promise<ReleaseResult>
}

/**
 * One statement, prepared on the pool: the window's row is locked only for its length, and before the reservation, as
 * reserving and settling do. A payment id that is not there is inserted: a reservation that arrives later, or that is being
 * written now, fails on the primary key, or makes this insert do nothing. The state is compared as text, so that no plan goes
 * by the index of all that are open.
 */
const RELEASE = `
  with target as (
    select access_item_id, interval_index, state, ended_at from reservation where payment_id = $1),
  locked as (
    select w.access_item_id, w.interval_index
      from limit_window w join target t using (access_item_id, interval_index)
     where t.state = 'open'
       for update of w),
  ended as (
    update reservation r
       set state = 'released', ended_at = now()
      from locked
     where r.payment_id = $1 and r.state::text = 'open'
    returning r.access_item_id, r.interval_index, r.debit,
              case when r.receive_counted then r.receive else 0 end as receive),
  given_back as (
    update limit_window w
       set debited = w.debited - e.debit, received = w.received - e.receive
      from ended e
     where w.access_item_id = e.access_item_id and w.interval_index = e.interval_index),
  noted as (
    update reservation r set ended_at = now()
      from target t
     where r.payment_id = $1 and r.state::text = 'refused' and t.ended_at is null
    returning 1),
  barred as (
    insert into reservation (payment_id, state, ended_at)
    select $1, 'released', now() where not exists (select 1 from target)
    on conflict (payment_id) do nothing
    returning 1)
  select case
           when exists (select 1 from ended) then 'ended'
           when exists (select 1 from barred) then 'barred'
           when (select state::text = 'refused' and ended_at is null from target) and not exists (select 1 from noted)
             then 'gone'
           else coalesce((select state::text from target), 'appeared')
         end as result`

export function createReleaseReservationRepository(pool: pg.Pool): ReleaseReservationRepository {
  return {
    async release(paymentId) {
      const { rows } = await pool.query<{ result: ReleaseResult }>({
        name: 'release',
        text: RELEASE,
        values: [paymentId]
      })
      const [row] = rows
      if (row === undefined) throw new Error('a statement that always answers a row answered none')
      return row.result
    }
  }
}
