import { currentTimeline, type RawQueries, rawSql, sql, Statement } from '@open-payments-server/database'

/** How many numbers an epoch leaves out at least, should the clock be behind. */
const LEFT_OUT = rawSql('1000000')

/**
 * Fragment: the first number of an epoch, at least the microseconds since the Unix epoch. Fewer events than that are ever published,
 * so it is above all numbers that were given before: also above those of which a restored database knows nothing, however many it
 * lost, and above those of an epoch that was itself lost. It stays a safe integer of JavaScript until the year 2255.
 */
const FIRST_NUMBER = sql`
  greatest(l.last_number + ${LEFT_OUT}, (extract(epoch from clock_timestamp()) * 1000000)::bigint) + 1`

/**
 * Fragment: the parts `met` and `begun`, which begin an epoch if the database is on a timeline that it was not met on before, for
 * whoever is the `publisher (is_this)`. Events that the database lost had numbers after the last one that it knows: the next
 * ones are left out. Whoever publishes meets the timeline first, so that no event of a new timeline has such a number.
 */
export const metTimeline = sql`
  met as (
    insert into event_epoch (system_identifier, timeline_id, after_number, first_number)
    select t.system_identifier, t.timeline_id, l.last_number, ${FIRST_NUMBER}
      from (${currentTimeline}) t cross join event_log l cross join publisher where publisher.is_this
    on conflict do nothing
    returning first_number
  ), begun as (
    update event_log set last_number = met.first_number - 1 from met
  )`

/** Fragment, an expression: whether nobody has published on the timeline of the database yet. */
export const isTimelineNew = sql`
  not exists (select 1 from event_epoch e join (${currentTimeline}) t using (system_identifier, timeline_id))`

const READ_CHANGE = new Statement<{ readonly changed_at: Date | null }>(
  'read-epoch-change',
  sql`
  select case when ${isTimelineNew} then now() when count(*) > 1 then max(began_at) end as changed_at from event_epoch`
)

/**
 * When the database was first met on its newest timeline, in milliseconds since the Unix epoch, by its own clock: what was committed
 * before may be lost. That is now if nobody has met it yet.
 *
 * @returns undefined for a database that was met on one timeline alone
 */
export async function readEpochChange(on: RawQueries): Promise<number | undefined> {
  const [row] = await READ_CHANGE.rows(on, {})
  return row?.changed_at?.getTime()
}
