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
