import { placeholder, type RawQueries, sql, Statement } from '@open-payments-server/database'
import type { StoredEvent } from './event.js'
import { type EventRow, storedEvent } from './read.js'

const HISTORY = new Statement<EventRow & { readonly number: string }>(
  'read-subject-events',
  sql`
  select e.number::text as number, e.id, e.type, e.occurred_at, e.subject_id, e.change, e.trace from event e
   where e.subject_id = ${placeholder('subjectId')}::uuid
   order by e.number desc limit ${placeholder('countMax')}::integer`
)

/** The newest events of one resource that are still kept, oldest first. */
export async function readHistory(
  on: RawQueries,
  query: { readonly subjectId: string; readonly countMax: number }
): Promise<readonly StoredEvent[]> {
  const rows = await HISTORY.rows(on, { ...query })
  return rows.map((row) => storedEvent(row, row.number)).reverse()
}

const HAS = new Statement<{ readonly is_there: boolean }>(
  'has-subject-events',
  sql`
  select exists (select 1 from event_outbox where subject_id = ${placeholder('subjectId')}::uuid)
      or exists (select 1 from event where subject_id = ${placeholder('subjectId')}::uuid) as is_there`
)

/** Whether there are events of one resource, published or not: for where none is published, because it looks through all others. */
export async function hasEvents(on: RawQueries, subjectId: string): Promise<boolean> {
  const [row] = await HAS.rows(on, { subjectId })
  return row?.is_there === true
}

const AUDITS = new Statement<EventRow & { readonly number: string }>(
  'list-audits',
  sql`
  select e.number::text as number, e.id, e.type, e.occurred_at, e.subject_id, e.change, e.trace from event e
   where e.type in ('audit.passed', 'audit.failed') and e.number < ${placeholder('before')}::bigint
   order by e.number desc limit ${placeholder('countMax')}::integer`,
  { prepared: false }
)

/** Number of no event: all are before it. */
const NUMBER_MAX = (1n << 63n) - 1n

/**
 * Lists the events of audits that are still kept, newest first.
 *
 * @param query.beforeNumber only those before this one; undefined begins with the newest
 */
export async function listAudits(
  on: RawQueries,
  {
    beforeNumber = NUMBER_MAX,
    countMax
  }: { readonly beforeNumber?: bigint | undefined; readonly countMax: number }
): Promise<readonly StoredEvent[]> {
  const rows = await AUDITS.rows(on, { before: beforeNumber.toString(), countMax })
  return rows.map((row) => storedEvent(row, row.number))
}
