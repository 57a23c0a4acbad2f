import type pg from 'pg'
import type { SettledValues } from '../../domain/ends.js'

/** A reservation as it was when the statement began. */
export interface SettledReservation {
  /** Whether this statement settled it. */
  readonly ended: boolean
  readonly state: 'open' | 'settled' | 'released' | 'refused'
  /** What it held; undefined for what never held room. */
  readonly reserved: SettledValues | undefined
  /** What it was settled with before. */
  readonly settled: SettledValues | undefined
}

/** Settles reservations. */
export interface SettleReservationRepository {
  /**
   * Ends an open reservation that holds as much as was spent, and gives the rest back to the window it was taken from.
   *
   * @returns undefined for an unknown payment
   */
  settle(paymentId: string, spent: SettledValues): Promise<SettledReservation | undefined>
}

/**
 * One statement for every payment that ends, prepared on the pool: the window's row is locked only for its length, and not
 * at all for a payment that used everything it had reserved.
 *
 * The window is locked before the reservation, as reserving does: a late twin of the reservation may hold the window and
 * wait for this row, and must not be waited for. The reservation's state is looked at once more when its row is locked, so
 * that of two ends that race one has effect; as text, so that no plan goes by the index of all that are open.
 */
const SETTLE = `
  with target as (
    select access_item_id, interval_index, state, debit, receive, settled_debit, settled_receive,
           state = 'open' and $2::numeric <= debit and $3::numeric <= receive as fits,
           $2::numeric < debit or (receive_counted and $3::numeric < receive) as gives_back
      from reservation where payment_id = $1),
  locked as (
    select w.access_item_id
      from limit_window w join target t using (access_item_id, interval_index)
     where t.fits and t.gives_back
       for update of w),
  ended as (
    update reservation r
       set state = 'settled', settled_debit = $2::numeric, settled_receive = $3::numeric, ended_at = now()
      from target t left join locked on true
     where r.payment_id = $1 and r.state::text = 'open' and t.fits
       and (locked.access_item_id is not null or not t.gives_back)
    returning r.access_item_id, r.interval_index, r.debit - $2::numeric as unspent_debit,
              case when r.receive_counted then r.receive - $3::numeric else 0 end as unspent_receive),
  given_back as (
    update limit_window w
       set debited = w.debited - e.unspent_debit, received = w.received - e.unspent_receive
      from ended e
     where w.access_item_id = e.access_item_id and w.interval_index = e.interval_index
       and (e.unspent_debit > 0 or e.unspent_receive > 0))
  select t.state, t.debit, t.receive, t.settled_debit, t.settled_receive,
         exists (select 1 from ended) as ended
    from target t`

interface SettledRow {
  readonly state: SettledReservation['state']
  readonly debit: string | null
  readonly receive: string | null
  readonly settled_debit: string | null
  readonly settled_receive: string | null
  readonly ended: boolean
}

export function createSettleReservationRepository(pool: pg.Pool): SettleReservationRepository {
  return {
    async settle(paymentId, { debited, received }) {
      const { rows } = await pool.query<SettledRow>({
        name: 'settle',
        text: SETTLE,
        values: [paymentId, debited, received]
      })
      const [row] = rows
      return (
        row && {
          ended: row.ended,
          state: row.state,
          reserved: valuesOf(row.debit, row.receive),
          settled: valuesOf(row.settled_debit, row.settled_receive)
        }
      )
    }
  }
}

function valuesOf(debited: string | null, received: string | null): SettledValues | undefined {
  return debited === null || received === null
    ? undefined
    : { debited: BigInt(debited), received: BigInt(received) }
}
