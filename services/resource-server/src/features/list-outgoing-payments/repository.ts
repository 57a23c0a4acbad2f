import { queryKeyset } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_TABLES,
  type OutgoingPaymentRow,
  readOutgoingPaymentRow
} from '../../domain/outgoing-payment-row.js'
import type { FoundPage, PageRequest } from '../../domain/pagination.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Lists outgoing payments. */
export interface OutgoingPaymentLister {
  /**
   * Lists the payments of a wallet address, newest first.
   *
   * @param client only those that this client created; undefined for all
   */
  list(
    walletAddressId: string,
    client: string | undefined,
    page: PageRequest
  ): Promise<FoundPage<OutgoingPayment>>
}

/** Lists outgoing payments from the database, with one statement. */
export function createOutgoingPaymentLister(deps: { pool: Pool; urls: ResourceUrls }): OutgoingPaymentLister {
  return {
    async list(walletAddressId, client, page) {
      const own = client !== undefined
      const list = {
        name: own ? 'list-own-outgoing-payments' : 'list-outgoing-payments',
        columns: OUTGOING_PAYMENT_COLUMNS,
        from: OUTGOING_PAYMENT_TABLES,
        where: own ? 'p.wallet_address_id = $1 and p.client = $2' : 'p.wallet_address_id = $1',
        values: own ? [walletAddressId, client] : [walletAddressId]
      }
      const { rows, hasOpposite } = await queryKeyset<OutgoingPaymentRow>(deps.pool, list, page)
      return { rows: rows.map((row) => readOutgoingPaymentRow(row, deps.urls)), hasOpposite }
    }
  }
}
