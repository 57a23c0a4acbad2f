import { createLookup } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { Quote } from '../../domain/quote.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from '../../domain/quote-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Reads quotes. */
export interface QuoteReader {
  /** Finds a quote by its id (UUID). */
  find(id: string): Promise<Quote | undefined>
}

/** Reads quotes from the database: those that are asked for at the same time with one statement. */
export function createQuoteReader(deps: { pool: Pool; urls: ResourceUrls }): QuoteReader {
  const lookUp = createLookup<QuoteRow>({
    pool: deps.pool,
    name: 'get-quotes',
    text: `select ${QUOTE_COLUMNS} from quote q ${QUOTE_JOINS} where q.id = any($1)`
  })
  return {
    async find(id) {
      const row = await lookUp(id)
      return row && readQuoteRow(row, deps.urls)
    }
  }
}
