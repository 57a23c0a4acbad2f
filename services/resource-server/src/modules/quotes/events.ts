import { placeholder, Statement } from '@open-payments-server/database'
import type { Quote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import { isPaidFrom } from '../outgoing-payments/index.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from './row.js'

/** Fragment: selects the events of the quotes of the part `due` that no payment used. */
export const expiredQuoteEvents = Prisma.sql`
  select 'quote.expired' as type, q.id as subject_id, null::json as change, due.expires_at as occurred_at
    from due join quote q on q.id = due.subject_id
   where due.kind = 'quote' and not ${isPaidFrom(Prisma.sql`q.id`)}`

/** One statement over five tables: Prisma's models would send one for each table. */
const BY_ID = new Statement<QuoteRow>(
  'get-told-quotes',
  Prisma.sql`select ${QUOTE_COLUMNS} from quote q ${QUOTE_JOINS} where q.id = any(${placeholder('ids')}::uuid[])`
)

/**
 * Reads the quotes that something happened to. They never change.
 *
 * @returns the quote of each event, in their order; undefined for one that is no longer kept
 */
export async function readToldQuotes(
  on: Queries,
  events: readonly StoredEvent[],
  urls: ResourceUrls
): Promise<readonly (Quote | undefined)[]> {
  if (events.length === 0) return []
  const rows = await BY_ID.rows(on, { ids: [...new Set(events.map(({ subjectId }) => subjectId))] })
  const quoteOf = new Map(rows.map((row) => [row.id, readQuoteRow(row, urls)]))
  return events.map(({ subjectId }) => quoteOf.get(subjectId))
}
