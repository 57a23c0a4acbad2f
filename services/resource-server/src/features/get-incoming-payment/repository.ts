import type { Pool } from 'pg'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  readIncomingPaymentRow
} from '../../domain/incoming-payment-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Reads incoming payments. */
export interface IncomingPaymentReader {
  /** Finds a payment by its id (UUID). */
  find(id: string): Promise<IncomingPayment | undefined>
}

/** Reads incoming payments from the database: one prepared statement, as clients poll for what was received. */
export function createIncomingPaymentReader(deps: { pool: Pool; urls: ResourceUrls }): IncomingPaymentReader {
  return {
    async find(id) {
      const { rows } = await deps.pool.query<IncomingPaymentRow>({
        name: 'get-incoming-payment',
        text: `select ${INCOMING_PAYMENT_COLUMNS} from incoming_payment p ${INCOMING_PAYMENT_JOINS} where p.id = $1`,
        values: [id]
      })
      return rows[0] === undefined ? undefined : readIncomingPaymentRow(rows[0], deps.urls)
    }
  }
}
