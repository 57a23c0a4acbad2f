import { queryKeyset } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { FoundPage, PageRequest } from '../../domain/pagination.js'

/** Where one kind of payment is kept. */
export interface PaymentTable {
  /** Plural of the kind: names the statements. */
  readonly name: 'incoming-payments' | 'outgoing-payments'
  /** Columns of a row, `p.id` and `p.created_at` among them. */
  readonly columns: string
  /** The table of the payments. */
  readonly table: 'incoming_payment' | 'outgoing_payment'
  /** What joins other tables to the payments `p`, one row of each for each payment; empty without. */
  readonly joins: string
  /** Whether rows are wanted as PostgreSQL writes them. */
  readonly rowsAsText: boolean
}

/** What every listed row has. */
export interface ListedRow {
  readonly id: string
}

/** Lists payments of one kind. */
export interface PaymentLister<Row> {
  /**
   * Lists the payments of a wallet address, newest first.
   *
   * @param client only those that this client created; undefined for all
   */
  list(walletAddressId: string, client: string | undefined, page: PageRequest): Promise<FoundPage<Row>>
}

/** Lists payments from the database, with one statement. */
export function createPaymentLister<Row extends ListedRow>(
  { name, ...table }: PaymentTable,
  { pool }: { pool: Pool }
): PaymentLister<Row> {
  return {
    list(walletAddressId, client, page) {
      const own = client !== undefined
      const list = {
        ...table,
        name: own ? `list-own-${name}` : `list-${name}`,
        where: own ? 'p.wallet_address_id = $1 and p.client = $2' : 'p.wallet_address_id = $1',
        values: own ? [walletAddressId, client] : [walletAddressId]
      }
      return queryKeyset<Row>(pool, list, page)
    }
  }
}
