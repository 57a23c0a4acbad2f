import {
  bytesText,
  instantText,
  placeholder,
  readBytes,
  Statement,
  writeTogether
} from '@open-payments-server/database'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { Quote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { canTake } from '../incoming-payments/index.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from './row.js'

/** A quote to be stored. */
export interface NewQuote {
  readonly quote: Quote
  /** Identifies repetitions of the request; undefined without an idempotency key. */
  readonly identity: CreationIdentity | undefined
  readonly walletAddressId: string
  readonly receiveAssetId: number
  /** Part of the debit that is the provider's fee. */
  readonly feeValue: bigint
  /** Id (UUID) of the incoming payment, which must have room for the quote; undefined when that was checked already. */
  readonly roomIn: string | undefined
}

/** A stored quote. */
export interface StoredQuote {
  readonly quote: Quote
  /** Hash of the request that created it, if it had an idempotency key. */
  readonly requestHash: Uint8Array | null
}

/** Stores quotes. */
export interface QuoteStore {
  /**
   * Stores a quote, unless one with the same idempotency key exists: then that one is returned.
   *
   * @returns undefined when there is no room for it, or nothing was stored and no existing one is visible
   */
  create(quote: NewQuote): Promise<StoredQuote | undefined>
  /** Finds the quote of an idempotency key, as {@link create} would return it. */
  findCreated(idempotencyHash: Buffer): Promise<StoredQuote | undefined>
}

/**
 * Stores some quotes. Whether a cached receiver has room is checked as its quote is written, without a separate statement.
 */
const INSERT = Prisma.sql`
  insert into quote as q
    (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
     expires_at, created_at, request_hash, idempotency_hash)
  select id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
         expires_at, created_at, request_hash, idempotency_hash
    from json_to_recordset(${placeholder('wanted')}::json)
      as w (id uuid, wallet_address_id uuid, client text, receiver text, debit_value numeric, fee_value numeric,
            receive_value numeric, receive_asset_id integer, method text, expires_at timestamptz, created_at timestamptz,
            room_in uuid, request_hash bytea, idempotency_hash bytea)
   where room_in is null
      or ${canTake({
        id: Prisma.sql`room_in`,
        value: Prisma.sql`receive_value`,
        now: Prisma.sql`w.created_at`
      })}`

/** A quote without a key cannot exist already, so only whether it was stored is returned. */
const CREATE_UNKEYED = new Statement<{ id: string }>(
  'create-quotes',
  Prisma.sql`with created as (${INSERT} returning id) select id from created`
)

type CreatedRow = QuoteRow & { readonly request_hash: string | null }

/**
 * One statement. The insert waits for a concurrent request with the same key, but the select, whose snapshot is older, does
 * not see it: then no row is returned.
 */
const CREATE = new Statement<CreatedRow>(
  'create-quote',
  Prisma.sql`
  with created as (
    ${INSERT}
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning q.*
  )
  select ${QUOTE_COLUMNS}, q.request_hash
    from (select * from created union all select * from quote where idempotency_hash = ${placeholder('idempotencyHash')}) q
    ${QUOTE_JOINS}`
)

/** One statement over five tables, with the row that {@link CREATE} returns. */
const FIND = new Statement<CreatedRow>(
  'find-created-quote',
  Prisma.sql`select ${QUOTE_COLUMNS}, q.request_hash from quote q ${QUOTE_JOINS}
              where q.idempotency_hash = ${placeholder('idempotencyHash')}`
)

/** Stores quotes in the database. */
export function createQuoteStore({ database, urls }: { database: Queries; urls: ResourceUrls }): QuoteStore {
  const read = ([row]: readonly CreatedRow[]): StoredQuote | undefined =>
    row && {
      quote: readQuoteRow(row, urls),
      requestHash: row.request_hash === null ? null : readBytes(row.request_hash)
    }
  const createUnkeyed = writeTogether((quotes: readonly NewQuote[]) => createAll(quotes, database))
  return {
    findCreated: async (idempotencyHash) => read(await FIND.rows(database, { idempotencyHash })),
    async create(quote) {
      if (quote.identity === undefined) return createUnkeyed(quote)
      const { idempotencyHash } = quote.identity
      return read(await CREATE.rows(database, { wanted: JSON.stringify([toRecord(quote)]), idempotencyHash }))
    }
  }
}

/** Stores some quotes without keys, as they were given. @returns the stored quote of each, in their order */
async function createAll(quotes: readonly NewQuote[], on: Queries): Promise<(StoredQuote | undefined)[]> {
  const rows = await CREATE_UNKEYED.rows(on, { wanted: JSON.stringify(quotes.map(toRecord)) })
  const kept = new Set(rows.map(({ id }) => id))
  return quotes.map(({ quote }) => (kept.has(quote.id) ? { quote, requestHash: null } : undefined))
}

/** A record of {@link INSERT}. Numbers of arbitrary size are sent as text. */
function toRecord({ quote, identity, ...others }: NewQuote): object {
  return {
    id: quote.id,
    wallet_address_id: others.walletAddressId,
    client: quote.client,
    receiver: quote.receiver,
    debit_value: quote.debitValue.toString(),
    fee_value: others.feeValue.toString(),
    receive_value: quote.receiveValue.toString(),
    receive_asset_id: others.receiveAssetId,
    method: quote.method,
    expires_at: instantText(quote.expiresAtMs),
    created_at: instantText(quote.createdAtMs),
    room_in: others.roomIn,
    request_hash: identity && bytesText(identity.requestHash),
    idempotency_hash: identity && bytesText(identity.idempotencyHash)
  }
}
