import type { Quote } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma } from '../database.js'
import { assetById } from '../ledger/index.js'
import { WALLET_ADDRESS } from '../wallet-addresses/index.js'

/** The columns of a {@link QuoteRow}: `q` is the quote, joined by {@link QUOTE_JOINS}. */
export const QUOTE_COLUMNS = Prisma.sql`
  q.id, q.client, q.receiver, q.debit_value::text, q.receive_value::text, q.method, q.expires_at, q.created_at,
  w.path, s.code as debit_code, s.scale as debit_scale, ra.code as receive_code, ra.scale as receive_scale`

/** Joins the wallet address and the assets to a quote `q`. */
export const QUOTE_JOINS = Prisma.sql`
  ${WALLET_ADDRESS(Prisma.sql`q.wallet_address_id`)}
  ${assetById(Prisma.sql`q.receive_asset_id`, Prisma.sql`ra`)}`

/** A quote as the database returns it: numbers of arbitrary size are text. */
export interface QuoteRow {
  readonly id: string
  readonly client: string
  readonly receiver: string
  readonly debit_value: string
  readonly receive_value: string
  readonly method: string
  readonly expires_at: Date
  readonly created_at: Date
  readonly path: string
  readonly debit_code: string
  readonly debit_scale: number
  readonly receive_code: string
  readonly receive_scale: number
}

/** Reads a row. */
export function readQuoteRow(row: QuoteRow, urls: ResourceUrls): Quote {
  return {
    id: row.id,
    walletAddressUrl: urls.ofWalletAddress(row.path),
    client: row.client,
    receiver: row.receiver,
    debitAsset: { code: row.debit_code, scale: row.debit_scale },
    debitValue: BigInt(row.debit_value),
    receiveAsset: { code: row.receive_code, scale: row.receive_scale },
    receiveValue: BigInt(row.receive_value),
    method: row.method,
    expiresAtMs: row.expires_at.getTime(),
    createdAtMs: row.created_at.getTime()
  }
}
