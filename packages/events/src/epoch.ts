import { rawSql, sql } from '@open-payments-server/database'

/**
 * How many numbers an epoch leaves out: more than a database can lose with its last commits, so that no number is ever given to
 * two events.
 */
const LEFT_OUT = rawSql('1000000')

/**
 * Fragment: the timeline of the database. A new one begins when a standby is promoted or a backup is restored to a moment. The
 * name of the WAL file is exact from the promotion on, whereas `pg_control_checkpoint` waits for the next checkpoint.
 */
const CURRENT_TIMELINE = sql`
  select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline_id
    from pg_control_system() c`

/**
 * Fragment: the parts `met` and `begun`, which begin an epoch if the database is on a timeline that it was not met on before, for
 * whoever is the `publisher (is_this)`. Events that the database lost had numbers after the last one that it knows: the next
 * ones are left out. Whoever publishes meets the timeline first, so that no event of a new timeline has such a number.
 */
export const metTimeline = sql`
  met as (
    insert into event_epoch (system_identifier, timeline_id, after_number, first_number)
    select t.system_identifier, t.timeline_id, l.last_number, l.last_number + ${LEFT_OUT} + 1
      from (${CURRENT_TIMELINE}) t cross join event_log l cross join publisher where publisher.is_this
    on conflict do nothing
    returning first_number
  ), begun as (
    update event_log set last_number = met.first_number - 1 from met
  )`
