import type { QuotedAmounts } from '@open-payments-server/amounts'
import type { Pool } from 'pg'
import type { Quote } from '../../domain/quote.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from '../../domain/quote-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** A quote to be kept. */
export interface NewQuote {
  readonly id: string
  readonly walletAddressId: string
  readonly client: string
  readonly receiver: string
  readonly amounts: QuotedAmounts
  readonly receiveAssetId: number
  readonly method: string
  readonly requestHash: Buffer | undefined
  readonly expiresAtMs: number
  readonly createdAtMs: number
}

/** What stands under an id after a creation. */
export interface StoredQuote {
  readonly quote: Quote
  /** Hash of the request that created it, where it carried an idempotency key. */
  readonly requestHash: Buffer | null
}

/** Keeps quotes. */
export interface QuoteRepository {
  /**
   * Keeps a quote, unless there is one under its id already: that one is answered then.
   *
   * @returns undefined when nothing was kept and nothing could be seen under the id
   */
  create(quote: NewQuote): Promise<StoredQuote | undefined>
  /** Finds a quote by its id (UUID), as {@link create} would answer it. */
  find(id: string): Promise<StoredQuote | undefined>
}

/**
 * One statement. A request with the same id that runs at the same time is waited for by the insert, and not seen by the
 * select, whose snapshot is older: then no row comes back.
 */
const CREATE = `
  with created as (
    insert into quote as q
      (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
       request_hash, expires_at, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    on conflict (id) do nothing
    returning q.*
  )
  select ${QUOTE_COLUMNS}, q.request_hash
    from (select * from created union all select * from quote where id = $1) q ${QUOTE_JOINS}`

const FIND = `select ${QUOTE_COLUMNS}, q.request_hash from quote q ${QUOTE_JOINS} where q.id = $1`

/** Keeps quotes in the database. */
export function createQuoteRepository(deps: { pool: Pool; urls: ResourceUrls }): QuoteRepository {
  const query = async (name: string, text: string, values: unknown[]): Promise<StoredQuote | undefined> => {
    const { rows } = await deps.pool.query<QuoteRow & { request_hash: Buffer | null }>({ name, text, values })
    const [row] = rows
    return row === undefined
      ? undefined
      : { quote: readQuoteRow(row, deps.urls), requestHash: row.request_hash }
  }
  return {
    find: (id) => query('find-created-quote', FIND, [id]),
    create: (quote) =>
      query('create-quote', CREATE, [
        quote.id,
        quote.walletAddressId,
        quote.client,
        quote.receiver,
        quote.amounts.debit.toString(),
        quote.amounts.fee.toString(),
        quote.amounts.receive.toString(),
        quote.receiveAssetId,
        quote.method,
        quote.requestHash,
        new Date(quote.expiresAtMs),
        new Date(quote.createdAtMs)
      ])
  }
}
