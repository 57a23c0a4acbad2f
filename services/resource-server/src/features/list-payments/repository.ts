import { queryKeyset } from '@open-payments-server/database'
import type { Pool, QueryResultRow } from 'pg'
import type { FoundPage, PageRequest } from '../../domain/pagination.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Where one kind of payment is kept. */
export interface PaymentTable<Row, Payment> {
  /** Plural of the kind: names the statements. */
  readonly name: 'incoming-payments' | 'outgoing-payments'
  /** Columns of a {@link Row}. */
  readonly columns: string
  /** The table of the payments. */
  readonly table: 'incoming_payment' | 'outgoing_payment'
  /** Tables that they come from, `p` being the payment. */
  readonly from: string
  readonly read: (row: Row, urls: ResourceUrls) => Payment
}

/** Lists payments of one kind. */
export interface PaymentLister<Payment> {
  /**
   * Lists the payments of a wallet address, newest first.
   *
   * @param client only those that this client created; undefined for all
   */
  list(walletAddressId: string, client: string | undefined, page: PageRequest): Promise<FoundPage<Payment>>
}

/** Lists payments from the database, with one statement. */
export function createPaymentLister<Row extends QueryResultRow, Payment>(
  { name, table, columns, from, read }: PaymentTable<Row, Payment>,
  { pool, urls }: { pool: Pool; urls: ResourceUrls }
): PaymentLister<Payment> {
  return {
    async list(walletAddressId, client, page) {
      const own = client !== undefined
      const list = {
        name: own ? `list-own-${name}` : `list-${name}`,
        table,
        columns,
        from,
        where: own ? 'p.wallet_address_id = $1 and p.client = $2' : 'p.wallet_address_id = $1',
        values: own ? [walletAddressId, client] : [walletAddressId]
      }
      const { rows, hasOpposite } = await queryKeyset<Row>(pool, list, page)
      return { rows: rows.map((row) => read(row, urls)), hasOpposite }
    }
  }
}
