import type { Pool } from 'pg'
import type { Quote } from '../../domain/quote.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from '../../domain/quote-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Reads quotes. */
export interface QuoteReader {
  /** Finds a quote by its id (UUID). */
  find(id: string): Promise<Quote | undefined>
}

/** Reads quotes from the database, with one statement. */
export function createQuoteReader(deps: { pool: Pool; urls: ResourceUrls }): QuoteReader {
  return {
    async find(id) {
      const { rows } = await deps.pool.query<QuoteRow>({
        name: 'get-quote',
        text: `select ${QUOTE_COLUMNS} from quote q ${QUOTE_JOINS} where q.id = $1`,
        values: [id]
      })
      return rows[0] === undefined ? undefined : readQuoteRow(rows[0], deps.urls)
    }
  }
}
