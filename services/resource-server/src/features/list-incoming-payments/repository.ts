import { queryKeyset } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  readIncomingPaymentRow
} from '../../domain/incoming-payment-row.js'
import type { FoundPage, PageRequest } from '../../domain/pagination.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Lists incoming payments. */
export interface IncomingPaymentLister {
  /**
   * Lists the payments of a wallet address, newest first.
   *
   * @param client only those that this client created; undefined for all
   */
  list(
    walletAddressId: string,
    client: string | undefined,
    page: PageRequest
  ): Promise<FoundPage<IncomingPayment>>
}

/** Lists incoming payments from the database, with one statement. */
export function createIncomingPaymentLister(deps: { pool: Pool; urls: ResourceUrls }): IncomingPaymentLister {
  return {
    async list(walletAddressId, client, page) {
      const own = client !== undefined
      const list = {
        name: own ? 'list-own-incoming-payments' : 'list-incoming-payments',
        columns: INCOMING_PAYMENT_COLUMNS,
        from: `incoming_payment p ${INCOMING_PAYMENT_JOINS}`,
        where: own ? 'p.wallet_address_id = $1 and p.client = $2' : 'p.wallet_address_id = $1',
        values: own ? [walletAddressId, client] : [walletAddressId]
      }
      const { rows, hasOpposite } = await queryKeyset<IncomingPaymentRow>(deps.pool, list, page)
      return { rows: rows.map((row) => readIncomingPaymentRow(row, deps.urls)), hasOpposite }
    }
  }
}
