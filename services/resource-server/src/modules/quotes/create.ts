import {
  bytesText,
  instantText,
  placeholder,
  readBytes,
  Statement,
  writeTogether
} from '@open-payments-server/database'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { SendingTerms } from '../../domain/outgoing-method.js'
import type { Quote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { scheduled } from '../expiries/index.js'
import { canTake } from '../incoming-payments/index.js'
import { isFrozenAddress } from '../wallet-addresses/index.js'
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
  /** How it is sent; undefined for a receiver that is hosted here. */
  readonly sending: SendingTerms | undefined
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
   * @returns undefined when there is no room for it, or its wallet address is frozen
   */
  create(quote: NewQuote): Promise<StoredQuote | undefined>
  /** Finds the quote of an idempotency key, as {@link create} would return it. */
  findCreated(idempotencyHash: Buffer): Promise<StoredQuote | undefined>
}

/**
 * One statement for all that arrive together. Whether a cached receiver has room is checked as its quote is written, without
 * a separate statement. Keys are inserted in order, so that two statements never deadlock.
 */
const CREATE = new Statement<{ id: string }>(
  'create-quotes',
  Prisma.sql`
  with created as (
    insert into quote
      (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
       expires_at, created_at, request_hash, idempotency_hash, peer_id, send_max_value, fixed_fee_value)
    select id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
           expires_at, created_at, request_hash, idempotency_hash, peer_id, send_max_value, fixed_fee_value
      from json_to_recordset(${placeholder('wanted')}::json)
        as wanted (id uuid, wallet_address_id uuid, client text, receiver text, debit_value numeric, fee_value numeric,
              receive_value numeric, receive_asset_id integer, method text, expires_at timestamptz, created_at timestamptz,
              room_in uuid, request_hash bytea, idempotency_hash bytea, peer_id uuid, send_max_value numeric,
              fixed_fee_value numeric)
     where not ${isFrozenAddress(Prisma.sql`wanted.wallet_address_id`)}
       and (room_in is null
            or ${canTake({
              id: Prisma.sql`room_in`,
              value: Prisma.sql`receive_value`,
              now: Prisma.sql`wanted.created_at`
            })})
     order by idempotency_hash
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning id, expires_at
  ), ${scheduled('quote')}
  select id from created`
)

/** One statement over five tables: Prisma's models would send one for each table. */
const FIND = new Statement<QuoteRow & { readonly request_hash: string }>(
  'find-created-quote',
  Prisma.sql`select ${QUOTE_COLUMNS}, q.request_hash from quote q ${QUOTE_JOINS}
              where q.idempotency_hash = ${placeholder('idempotencyHash')}`
)

/** Stores quotes in the database. */
export function createQuoteStore({ database, urls }: { database: Queries; urls: ResourceUrls }): QuoteStore {
  const insert = writeTogether((quotes: readonly NewQuote[]) => insertAll(quotes, database))
  const findCreated = async (idempotencyHash: Buffer): Promise<StoredQuote | undefined> => {
    const [row] = await FIND.rows(database, { idempotencyHash })
    return row && { quote: readQuoteRow(row, urls), requestHash: readBytes(row.request_hash) }
  }
  return {
    findCreated,
    async create(wanted) {
      const { quote, identity } = wanted
      if (await insert(wanted)) return { quote, requestHash: identity?.requestHash ?? null }
      return identity && findCreated(identity.idempotencyHash)
    }
  }
}

/** Inserts some quotes. @returns whether each was inserted, in their order */
async function insertAll(quotes: readonly NewQuote[], on: Queries): Promise<boolean[]> {
  const rows = await CREATE.rows(on, { wanted: JSON.stringify(quotes.map(toRecord)) })
  const inserted = new Set(rows.map(({ id }) => id))
  return quotes.map(({ quote }) => inserted.has(quote.id))
}

/** A record of {@link CREATE}. Numbers of arbitrary size are sent as text. */
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
    peer_id: others.sending?.peerId,
    send_max_value: others.sending?.sendMaxValue.toString(),
    fixed_fee_value: others.sending?.fixedFeeValue.toString() ?? '0',
    request_hash: identity && bytesText(identity.requestHash),
    idempotency_hash: identity && bytesText(identity.idempotencyHash)
  }
}
