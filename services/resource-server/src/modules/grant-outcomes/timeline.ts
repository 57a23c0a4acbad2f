import { Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/**
 * The timeline that is written now: a new one begins when a standby is promoted, or a backup restored to a moment. Exact from
 * the promotion on, where `pg_control_checkpoint` waits for the next checkpoint; everybody may ask it, of a primary.
 */
const CURRENT = Prisma.sql`
  select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline_id
    from pg_control_system() c`

const MEET = new Statement(
  'meet-timeline',
  Prisma.sql`
  insert into database_timeline (system_identifier, timeline_id) ${CURRENT} on conflict do nothing`
)

/** Keeps in mind on which timeline the database is, and since when that is known. */
export async function meetTimeline(on: Queries): Promise<void> {
  await MEET.rows(on, {})
}

/**
 * Fragment: an instant. What was committed before it may be lost, since the timeline changed: when the newest was first met;
 * `-infinity` where it never changed, and `infinity` where it just did and nobody met it yet.
 */
const CHANGED_AT = Prisma.sql`(
  select case when not bool_or((t.system_identifier, t.timeline_id) = (c.system_identifier, c.timeline_id)) then 'infinity'
              when count(*) > 1 then max(t.first_seen_at) else '-infinity' end::timestamptz
    from database_timeline t, (${CURRENT}) c)`

/** Fragment: whether a reservation of that age may be of a payment that is lost, where nothing here knows it. */
export const isBeforeChange = (createdAt: Prisma.Sql): Prisma.Sql => Prisma.sql`${createdAt} < ${CHANGED_AT}`

const READ_CHANGED_AT = new Statement<{ changed_at_ms: string }>(
  'read-timeline-change',
  Prisma.sql`select (extract(epoch from ${CHANGED_AT}) * 1000)::text as changed_at_ms`
)

/**
 * When the database's timeline last changed, in milliseconds since the Unix epoch: what was committed before may be lost.
 * `-Infinity` where it never did, `Infinity` where it just did and no sweep met it yet.
 */
export async function readTimelineChange(on: Queries): Promise<number> {
  const [row] = await READ_CHANGED_AT.rows(on, {})
  if (row === undefined) throw new Error('a statement that always answers a row answered none')
  return Number(row.changed_at_ms)
}
