import type { QuotedAmounts } from '@open-payments-server/amounts'
import type { Pool } from 'pg'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { Quote } from '../../domain/quote.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from '../../domain/quote-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** A quote to be kept. */
export interface NewQuote {
  readonly id: string
  /** By what a repetition of the request is known; undefined for one without an idempotency key. */
  readonly identity: CreationIdentity | undefined
  readonly walletAddressId: string
  readonly client: string
  readonly receiver: string
  readonly amounts: QuotedAmounts
  readonly receiveAssetId: number
  readonly method: string
  readonly expiresAtMs: number
  readonly createdAtMs: number
}

/** What is kept after a creation. */
export interface StoredQuote {
  readonly quote: Quote
  /** Hash of the request that created it, where it carried an idempotency key. */
  readonly requestHash: Buffer | null
}

/** Keeps quotes. */
export interface QuoteRepository {
  /**
   * Keeps a quote, unless there is one of the same idempotency key already: that one is answered then.
   *
   * @returns undefined when nothing was kept and nothing could be seen
   */
  create(quote: NewQuote): Promise<StoredQuote | undefined>
  /** Finds the quote of an idempotency key, as {@link create} would answer it. */
  findCreated(idempotencyHash: Buffer): Promise<StoredQuote | undefined>
}

/**
 * One statement. A request with the same key that runs at the same time is waited for by the insert, and not seen by the
 * select, whose snapshot is older: then no row comes back.
 */
const CREATE = `
  with created as (
    insert into quote as q
      (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
       request_hash, expires_at, created_at, idempotency_hash)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning q.*
  )
  select ${QUOTE_COLUMNS}, q.request_hash
    from (select * from created union all select * from quote where idempotency_hash = $13) q ${QUOTE_JOINS}`

const FIND = `select ${QUOTE_COLUMNS}, q.request_hash from quote q ${QUOTE_JOINS} where q.idempotency_hash = $1`

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
    findCreated: (idempotencyHash) => query('find-created-quote', FIND, [idempotencyHash]),
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
        quote.identity?.requestHash,
        new Date(quote.expiresAtMs),
        new Date(quote.createdAtMs),
        quote.identity?.idempotencyHash
      ])
  }
}
