import { type RawQueries, sql, Statement } from '@open-payments-server/database'

/** What waits in the outbox. */
export interface EventMeasures {
  /** Time since the oldest event happened that is not published, in seconds; 0 when there is none. */
  readonly unpublishedOldestAgeSeconds: number
}

/** Reads one end of an index: the cost does not grow with the table. */
const MEASURE = new Statement<EventMeasures>(
  'measure-events',
  sql`
  select coalesce(greatest(0, extract(epoch from now() - (
           select occurred_at from event_outbox order by place limit 1))), 0)::float8 as "unpublishedOldestAgeSeconds"`
)

/** Measures what waits in the outbox, with one statement. */
export async function measureEvents(on: RawQueries): Promise<EventMeasures> {
  const [measures] = await MEASURE.rows(on, {})
  if (measures === undefined) throw new Error('a statement that always answers a row answered none')
  return measures
}
