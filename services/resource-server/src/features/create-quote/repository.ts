import type { Pool } from 'pg'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { Quote } from '../../domain/quote.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from '../../domain/quote-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** A quote to be kept. */
export interface NewQuote {
  readonly quote: Quote
  /** By what a repetition of the request is known; undefined for one without an idempotency key. */
  readonly identity: CreationIdentity | undefined
  readonly walletAddressId: string
  readonly receiveAssetId: number
  /** Part of the debit that is the provider's fee. */
  readonly feeValue: bigint
  /** Id (UUID) of the incoming payment, which must have room for the quote; undefined when that is known already. */
  readonly roomIn: string | undefined
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
   * @returns undefined when there is no room for it, or nothing was kept and nothing could be seen
   */
  create(quote: NewQuote): Promise<StoredQuote | undefined>
  /** Finds the quote of an idempotency key, as {@link create} would answer it. */
  findCreated(idempotencyHash: Buffer): Promise<StoredQuote | undefined>
}

/** Whether a receiver that is known from before has room is looked at as the quote is written: that is no statement of its own. */
const INSERT = `
  insert into quote as q
    (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
     expires_at, created_at, request_hash, idempotency_hash)
  select $1::uuid, $2::uuid, $3::text, $4::text, $5::numeric, $6::numeric, $7::numeric, $8::integer, $9::text,
         $10::timestamptz, $11::timestamptz, $13::bytea, $14::bytea
   where $12::uuid is null
      or exists (select 1 from incoming_payment p
                  where p.id = $12::uuid and not p.completed
                    and (p.incoming_value is null or p.incoming_value - p.received_value >= $7::numeric))`

/**
 * One statement. A request with the same key that runs at the same time is waited for by the insert, and not seen by the
 * select, whose snapshot is older: then no row comes back.
 */
const CREATE = `
  with created as (
    ${INSERT}
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning q.*
  )
  select ${QUOTE_COLUMNS}, q.request_hash
    from (select * from created union all select * from quote where idempotency_hash = $14) q ${QUOTE_JOINS}`

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
    async create({ quote, identity, walletAddressId, receiveAssetId, feeValue, roomIn }) {
      const values = [
        quote.id,
        walletAddressId,
        quote.client,
        quote.receiver,
        quote.debitValue.toString(),
        feeValue.toString(),
        quote.receiveValue.toString(),
        receiveAssetId,
        quote.method,
        new Date(quote.expiresAtMs),
        new Date(quote.createdAtMs),
        roomIn,
        identity?.requestHash,
        identity?.idempotencyHash
      ]
      if (identity !== undefined) return query('create-quote', CREATE, values)
      // Nobody else can have created it: what is kept is what was given.
      const { rowCount } = await deps.pool.query({ name: 'create-unkeyed-quote', text: INSERT, values })
      return rowCount === 1 ? { quote, requestHash: null } : undefined
    }
  }
}
