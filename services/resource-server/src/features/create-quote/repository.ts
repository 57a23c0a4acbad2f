import { writeTogether } from '@open-payments-server/database'
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

/**
 * Keeps some quotes. Whether a receiver that is known from before has room is looked at as its quote is written: that is no
 * statement of its own.
 */
const INSERT = `
  insert into quote as q
    (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
     expires_at, created_at, request_hash, idempotency_hash)
  select id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
         expires_at, created_at, request_hash, idempotency_hash
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::numeric[], $6::numeric[], $7::numeric[], $8::integer[],
                $9::text[], $10::timestamptz[], $11::timestamptz[], $12::uuid[], $13::bytea[], $14::bytea[])
      as w (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
            expires_at, created_at, room_in, request_hash, idempotency_hash)
   where room_in is null
      or exists (select 1 from incoming_payment p
                  where p.id = room_in and not p.completed
                    and coalesce(p.incoming_value, 18446744073709551615) - p.received_value >= receive_value)`

/** Nobody else can have created what has no key: all that is asked is whether it is kept. */
const CREATE_UNKEYED = `${INSERT} returning id`

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
    from (select * from created union all select * from quote where idempotency_hash = any($14)) q ${QUOTE_JOINS}`

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
  const createUnkeyed = writeTogether((quotes: readonly NewQuote[]) => createAll(quotes, deps.pool))
  return {
    findCreated: (idempotencyHash) => query('find-created-quote', FIND, [idempotencyHash]),
    create: (quote) =>
      quote.identity === undefined
        ? createUnkeyed(quote)
        : query('create-quote', CREATE, createValues([quote]))
  }
}

/** Keeps some quotes without keys, which are kept as they were given. @returns what is kept of each, in their order */
async function createAll(quotes: readonly NewQuote[], pool: Pool): Promise<(StoredQuote | undefined)[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'create-quotes',
    text: CREATE_UNKEYED,
    values: createValues(quotes)
  })
  const kept = new Set(rows.map(({ id }) => id))
  return quotes.map(({ quote }) => (kept.has(quote.id) ? { quote, requestHash: null } : undefined))
}

/** The values of {@link INSERT}, `$1` to `$14`. */
function createValues(quotes: readonly NewQuote[]): unknown[] {
  const column = (read: (quote: NewQuote) => unknown): unknown[] => quotes.map(read)
  return [
    column(({ quote }) => quote.id),
    column(({ walletAddressId }) => walletAddressId),
    column(({ quote }) => quote.client),
    column(({ quote }) => quote.receiver),
    column(({ quote }) => quote.debitValue.toString()),
    column(({ feeValue }) => feeValue.toString()),
    column(({ quote }) => quote.receiveValue.toString()),
    column(({ receiveAssetId }) => receiveAssetId),
    column(({ quote }) => quote.method),
    column(({ quote }) => new Date(quote.expiresAtMs)),
    column(({ quote }) => new Date(quote.createdAtMs)),
    column(({ roomIn }) => roomIn),
    column(({ identity }) => identity?.requestHash),
    column(({ identity }) => identity?.idempotencyHash)
  ]
}
