import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'
import { bookedWithin } from '../ledger/index.js'

/**
 * Fragment, a query with a row if the day that contains an instant, or a later one, was closed: the first end of such a day, and what the
 * peer owed and was owed then.
 *
 * @param peerId names the peer
 * @param at names the instant
 */
export const nextClosing = (peerId: Prisma.Sql, at: Prisma.Sql): Prisma.Sql => Prisma.sql`
  select d.ended_at, d.receivable_value, d.payable_value
    from peer_day d
   where d.peer_id = ${peerId} and d.ended_at >= ${at}
   order by d.ended_at limit 1`

const WITHIN_DAY = { from: Prisma.sql`due.began_at`, to: Prisma.sql`due.ended_at` }

/**
 * Of each peer the first day that is over and not closed: what was owed when it began, and what was booked on it. It begins with the day before
 * the peer was created, since the clocks of processes differ. Days in UTC have 24 hours.
 */
const CLOSE = new Statement<{ readonly due: number }>(
  'close-days-of-peers',
  Prisma.sql`
  with due as (
    select p.id, p.receivable_account_id, p.payable_account_id, began.at as began_at, began.at + interval '24 hours' as ended_at,
           coalesce(closed.receivable_value, 0) as receivable_value, coalesce(closed.payable_value, 0) as payable_value
      from peer p
      left join lateral (
        select d.ended_at, d.receivable_value, d.payable_value from peer_day d where d.peer_id = p.id order by d.ended_at desc limit 1
      ) closed on true
     cross join lateral (
        select coalesce(closed.ended_at, date_trunc('day', p.created_at, 'UTC') - interval '24 hours') as at
      ) began
     where began.at + interval '24 hours' <= ${placeholder('endedBefore')}::timestamptz
     limit ${placeholder('countMax')}::integer
  ), closing as (
    insert into peer_day (peer_id, ended_at, receivable_value, payable_value)
    select due.id, due.ended_at, due.receivable_value - owed.value, due.payable_value + owing.value
      from due
     cross join lateral (${bookedWithin(Prisma.sql`due.receivable_account_id`, WITHIN_DAY)}) owed
     cross join lateral (${bookedWithin(Prisma.sql`due.payable_account_id`, WITHIN_DAY)}) owing
    on conflict (peer_id, ended_at) do nothing
  )
  select count(*)::integer as due from due`,
  { prepared: false }
)

/**
 * Closes days of peers: keeps what was owed when they ended. One day of each peer at a time. Safe to run in several processes at once.
 *
 * @param endedBeforeMs days that ended before this are closed, in milliseconds since the Unix epoch: nothing is booked on them any more
 * @param countMax maximum number of peers
 * @returns the number of peers that had a day to close; there may be more days
 */
export async function closePeerDays(
  on: Queries,
  { endedBeforeMs, countMax }: { readonly endedBeforeMs: number; readonly countMax: number }
): Promise<number> {
  const [row] = await CLOSE.rows(on, { endedBefore: instantText(endedBeforeMs), countMax })
  return row?.due ?? 0
}
