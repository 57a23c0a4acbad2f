import { createLookup } from '@open-payments-server/database'
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

/** Reads incoming payments from the database: those that are polled for at the same time with one statement. */
export function createIncomingPaymentReader(deps: { pool: Pool; urls: ResourceUrls }): IncomingPaymentReader {
  const lookUp = createLookup<IncomingPaymentRow>({
    pool: deps.pool,
    name: 'get-incoming-payments',
    text: `select ${INCOMING_PAYMENT_COLUMNS} from incoming_payment p ${INCOMING_PAYMENT_JOINS} where p.id = any($1)`
  })
  return {
    async find(id) {
      const row = await lookUp(id)
      return row && readIncomingPaymentRow(row, deps.urls)
    }
  }
}
