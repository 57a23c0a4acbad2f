import type { Pool } from 'pg'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_TABLES,
  type OutgoingPaymentRow,
  readOutgoingPaymentRow
} from '../../domain/outgoing-payment-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Reads outgoing payments. */
export interface OutgoingPaymentReader {
  /** Finds a payment by its id (UUID). */
  find(id: string): Promise<OutgoingPayment | undefined>
}

/** Reads outgoing payments from the database: one prepared statement, as clients poll for what was sent. */
export function createOutgoingPaymentReader(deps: { pool: Pool; urls: ResourceUrls }): OutgoingPaymentReader {
  return {
    async find(id) {
      const { rows } = await deps.pool.query<OutgoingPaymentRow>({
        name: 'get-outgoing-payment',
        text: `select ${OUTGOING_PAYMENT_COLUMNS} from ${OUTGOING_PAYMENT_TABLES} where p.id = $1`,
        values: [id]
      })
      return rows[0] === undefined ? undefined : readOutgoingPaymentRow(rows[0], deps.urls)
    }
  }
}
