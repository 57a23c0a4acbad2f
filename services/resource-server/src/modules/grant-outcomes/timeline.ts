import { Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/**
 * The current timeline: a new one begins when a standby is promoted or a backup is restored to a moment. The name of the
 * WAL file is exact from the promotion on, whereas `pg_control_checkpoint` waits for the next checkpoint. Any user may
 * query it on a primary.
 */
const CURRENT = Prisma.sql`
  select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline_id
    from pg_control_system() c`

/** Reads the timeline and records it with one statement: Prisma's models cannot call PostgreSQL's functions. */
const MEET = new Statement(
  'meet-timeline',
  Prisma.sql`
  insert into database_timeline (system_identifier, timeline_id) ${CURRENT} on conflict do nothing`
)

/** Records which timeline the database is on, and since when that is known. */
export async function meetTimeline(on: Queries): Promise<void> {
  await MEET.rows(on, {})
}

/**
 * Fragment: an instant. Commits before it may be lost, because the timeline changed. It is when the newest timeline was
 * first seen, `-infinity` if the timeline never changed, and `infinity` if it just changed and was not recorded yet.
 */
const CHANGED_AT = Prisma.sql`(
  select case when not bool_or((t.system_identifier, t.timeline_id) = (c.system_identifier, c.timeline_id)) then 'infinity'
              when count(*) > 1 then max(t.first_seen_at) else '-infinity' end::timestamptz
    from database_timeline t, (${CURRENT}) c)`

/** Fragment: whether a reservation of that age, without a payment here, may belong to a lost payment. */
export const isBeforeChange = (createdAt: Prisma.Sql): Prisma.Sql => Prisma.sql`${createdAt} < ${CHANGED_AT}`

/** Reads the timeline, as {@link MEET} does. The instant is text, because it may be infinite. */
const READ_CHANGED_AT = new Statement<{ changed_at_ms: string }>(
  'read-timeline-change',
  Prisma.sql`select (extract(epoch from ${CHANGED_AT}) * 1000)::text as changed_at_ms`
)

/**
 * When the database's timeline last changed, in milliseconds since the Unix epoch: commits before it may be lost.
 * `-Infinity` if it never changed, `Infinity` if it just changed and no sweep has recorded it yet.
 */
export async function readTimelineChange(on: Queries): Promise<number> {
  const [row] = await READ_CHANGED_AT.rows(on, {})
  if (row === undefined) throw new Error('a statement that always answers a row answered none')
  return Number(row.changed_at_ms)
}
