import { currentIncarnation, placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** A failover is over by then. A timeline that was last seen longer ago was not left by one, but by a restore. */
const FAILOVER_MAX_SECONDS = 180

/** How exactly it is known when a timeline was last seen. */
const SEEN_SECONDS = 10

const CURRENT = currentIncarnation('database_incarnation')

/**
 * Reads the incarnation and records it with one statement: Prisma's models cannot call PostgreSQL's functions. It loses nothing if
 * commits are kept, and it goes on from an earlier timeline of the same database that was seen just before.
 */
const MEET = new Statement(
  'meet-timeline',
  Prisma.sql`
  insert into database_incarnation as met (system_identifier, database_oid, table_oid, timeline_id, may_lose)
  select c.system_identifier, c.database_oid, c.table_oid, c.timeline_id, not (
           ${placeholder('keepsCommits')}::boolean
           and exists (select 1 from database_incarnation before
                        where (before.system_identifier, before.database_oid, before.table_oid) = (c.system_identifier, c.database_oid, c.table_oid)
                          and before.timeline_id < c.timeline_id
                          and before.last_seen_at > now() - ${FAILOVER_MAX_SECONDS} * interval '1 second'))
    from (${CURRENT}) c
  on conflict (system_identifier, database_oid, table_oid, timeline_id) do update set last_seen_at = now()
   where met.last_seen_at < now() - ${SEEN_SECONDS} * interval '1 second'`
)

/**
 * Records which incarnation the database is, and since when that is known.
 *
 * @param keepsCommits whether a promoted server has every commit that was answered, as DATABASE_DURABILITY says
 */
export async function meetTimeline(on: Queries, keepsCommits: boolean): Promise<void> {
  await MEET.rows(on, { keepsCommits })
}

/**
 * Fragment: an instant. Commits before it may be lost, because the timeline changed, or the database was restored. It is when the newest
 * incarnation was first seen that may have lost any, `-infinity` if there is none, and `infinity` if the database just became another one and
 * that was not recorded yet.
 */
const CHANGED_AT = Prisma.sql`(
  select case when not bool_or((t.system_identifier, t.database_oid, t.table_oid, t.timeline_id)
                               = (c.system_identifier, c.database_oid, c.table_oid, c.timeline_id)) then 'infinity'
              when count(*) > 1 then coalesce(max(t.first_seen_at) filter (where t.may_lose), '-infinity')
              else '-infinity' end::timestamptz
    from database_incarnation t, (${CURRENT}) c)`

/** Fragment, a condition: whether commits may be lost that were made after that instant. */
export const isBeforeChange = (instant: Prisma.Sql): Prisma.Sql => Prisma.sql`${instant} < ${CHANGED_AT}`

/** Reads the timeline, as {@link MEET} does. The instant is text, because it may be infinite. */
const READ_CHANGED_AT = new Statement<{ changed_at_ms: string }>(
  'read-timeline-change',
  Prisma.sql`select (extract(epoch from ${CHANGED_AT}) * 1000)::text as changed_at_ms`
)

/**
 * When the database's timeline last changed, or the database was restored, in milliseconds since the Unix epoch: commits before it may be
 * lost. `-Infinity` if none are, `Infinity` if it just changed and no sweep has recorded it yet.
 */
export async function readTimelineChange(on: Queries): Promise<number> {
  const [row] = await READ_CHANGED_AT.rows(on, {})
  if (row === undefined) throw new Error('a statement that always answers a row answered none')
  return Number(row.changed_at_ms)
}
