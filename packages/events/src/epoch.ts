import { currentIncarnation, type RawQueries, rawSql, sql, Statement } from '@open-payments-server/database'

/** How many numbers an epoch leaves out at least, should the clock be behind. */
const LEFT_OUT = rawSql('1000000')

/**
 * Fragment: the first number of an epoch, at least the microseconds since the Unix epoch. Fewer events than that are ever published,
 * so it is above all numbers that were given before: also above those of which a restored database knows nothing, however many it
 * lost, and above those of an epoch that was itself lost. It stays a safe integer of JavaScript until the year 2255.
 */
const FIRST_NUMBER = sql`
  greatest(l.last_number + ${LEFT_OUT}, (extract(epoch from clock_timestamp()) * 1000000)::bigint) + 1`

const CURRENT = currentIncarnation('event_epoch')

/** Fragment, a condition: whether the epoch `e` is on the timeline of the incarnation `c`, and nobody has published in it yet. */
const isUnmet = sql`
  e.system_identifier = c.system_identifier and e.timeline_id = c.timeline_id and e.database_oid is null`

/**
 * Fragment: the parts `incarnation`, `first_met`, `met` and `begun`, which begin an epoch if the database is an incarnation that it was not met as before, for
 * whoever is the `publisher (is_this)`. Events that the database lost had numbers after the last one that it knows: the next
 * ones are left out. Whoever publishes meets the incarnation first, so that no event of a new one has such a number. The epoch that a migration
 * made is that of the first one.
 */
export const metIncarnation = sql`
  incarnation as (${CURRENT}), first_met as (
    update event_epoch e set database_oid = c.database_oid, table_oid = c.table_oid
      from incarnation c cross join publisher
     where publisher.is_this and ${isUnmet}
    returning e.place
  ), met as (
    insert into event_epoch (system_identifier, database_oid, table_oid, timeline_id, after_number, first_number)
    select c.system_identifier, c.database_oid, c.table_oid, c.timeline_id, l.last_number, ${FIRST_NUMBER}
      from incarnation c cross join event_log l cross join publisher
     where publisher.is_this and not exists (select 1 from first_met)
    on conflict do nothing
    returning first_number
  ), begun as (
    update event_log set last_number = met.first_number - 1 from met
  )`

/** Fragment, an expression: whether nobody has published yet since the database became what it is. */
export const isIncarnationNew = sql`
  not exists (select 1 from event_epoch e join (${CURRENT}) c
                on ${isUnmet} or (e.system_identifier, e.database_oid, e.table_oid, e.timeline_id)
                               = (c.system_identifier, c.database_oid, c.table_oid, c.timeline_id))`

const READ_CHANGE = new Statement<{ readonly changed_at: Date | null }>(
  'read-epoch-change',
  sql`
  select case when ${isIncarnationNew} then now() when count(*) > 1 then max(began_at) end as changed_at from event_epoch`
)

/**
 * When the database was first met as what it is, after a failover or a restore, in milliseconds since the Unix epoch, by its own clock: what was committed
 * before may be lost. That is now if nobody has met it yet.
 *
 * @returns undefined for a database that was always the same
 */
export async function readEpochChange(on: RawQueries): Promise<number | undefined> {
  const [row] = await READ_CHANGE.rows(on, {})
  return row?.changed_at?.getTime()
}
