import { createLookup, placeholder, Statement } from '@open-payments-server/database'
import { LRUCache } from 'lru-cache'
import {
  isOwnedBy,
  type PayableQuote,
  type Quote,
  type QuoteOwner,
  type RememberedQuotes
} from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { assetById } from '../ledger/index.js'
import { paymentOfQuote, readSendingTerms } from '../outgoing-payments/index.js'
import { QUOTE_COLUMNS, QUOTE_JOINS, type QuoteRow, readQuoteRow } from './row.js'

/** Reads quotes. */
export interface QuoteReader {
  /** Finds a quote by its id (UUID). */
  find(id: string): Promise<Quote | undefined>
}

/** One statement over five tables for all that arrive together: Prisma's models would send one for each table. */
const BY_ID = new Statement<QuoteRow>(
  'get-quotes',
  Prisma.sql`select ${QUOTE_COLUMNS} from quote q ${QUOTE_JOINS} where q.id = any(${placeholder('ids')}::uuid[])`
)

/** Reads quotes, batching concurrent reads into one statement. */
export function createQuoteReader(dependencies: { database: Queries; urls: ResourceUrls }): QuoteReader {
  const lookUp = createLookup((ids) => BY_ID.rows(dependencies.database, { ids }))
  return {
    async find(id) {
      const row = await lookUp(id)
      return row && readQuoteRow(row, dependencies.urls)
    }
  }
}

interface PayableQuoteRow {
  readonly id: string
  readonly wallet_address_id: string
  readonly client: string
  readonly receiver: string
  readonly debit_value: string
  readonly fee_value: string
  readonly receive_value: string
  readonly receive_asset_id: number
  readonly code: string
  readonly scale: number
  readonly expires_at: Date
  readonly peer_id: string | null
  readonly send_max_value: string | null
  readonly fixed_fee_value: string
  readonly used: boolean
}

/** Finds quotes that no payment has used. */
export interface PayableQuotes {
  /**
   * Finds a quote by its id (UUID), with one statement; undefined when the owner has no such quote, or a payment has used
   * it.
   */
  find(id: string, owner: QuoteOwner): Promise<PayableQuote | undefined>
}

/** One statement over three tables for all that arrive together: Prisma's models would send three each. */
const PAYABLE = new Statement<PayableQuoteRow>(
  'quotes-to-pay',
  Prisma.sql`
  select q.id, q.wallet_address_id, q.client, q.receiver, q.debit_value::text, q.fee_value::text, q.receive_value::text,
         q.receive_asset_id, s.code, s.scale, q.expires_at, q.peer_id, q.send_max_value::text, q.fixed_fee_value::text,
         used.id is not null as used
    from quote q
    ${assetById(Prisma.sql`q.receive_asset_id`, Prisma.sql`s`)}
    ${paymentOfQuote(Prisma.sql`q.id`, Prisma.sql`${placeholder('ids')}::uuid[]`)}
   where q.id = any(${placeholder('ids')}::uuid[])`
)

/** Finds quotes that may be paid, batching concurrent lookups into one statement. */
export function createPayableQuotes(dependencies: { database: Queries }): PayableQuotes {
  const lookUp = createLookup((ids) => PAYABLE.rows(dependencies.database, { ids }))
  return {
    async find(id, owner) {
      const row = await lookUp(id)
      if (row === undefined || row.used) return undefined
      const quote = {
        walletAddressId: row.wallet_address_id,
        client: row.client,
        receiver: row.receiver,
        amounts: {
          debitValue: BigInt(row.debit_value),
          feeValue: BigInt(row.fee_value),
          receiveValue: BigInt(row.receive_value)
        },
        receiveAsset: { code: row.code, scale: row.scale },
        receiveAssetId: row.receive_asset_id,
        sending: readSendingTerms(row),
        expiresAtMs: row.expires_at.getTime()
      }
      return isOwnedBy(quote, owner) ? quote : undefined
    }
  }
}

/** Maximum number of cached quotes. */
const REMEMBERED_MAX = 10_000

/**
 * Caches the latest quotes, so that paying one on the replica that created it needs no statement beforehand. Each is handed
 * out once: for a second payment, the database tells that it was used.
 */
export function rememberQuotes(): RememberedQuotes {
  const remembered = new LRUCache<string, PayableQuote>({ max: REMEMBERED_MAX })
  return {
    remember: (id, quote) => {
      remembered.set(id, quote)
    },
    take(id, owner) {
      const quote = remembered.get(id)
      if (quote === undefined || !isOwnedBy(quote, owner)) return undefined
      remembered.delete(id)
      return quote
    }
  }
}
