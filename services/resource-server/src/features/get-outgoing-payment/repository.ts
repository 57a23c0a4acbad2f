import { createLookup } from '@open-payments-server/database'
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

/** Reads outgoing payments from the database: those that are polled for at the same time with one statement. */
export function createOutgoingPaymentReader(deps: { pool: Pool; urls: ResourceUrls }): OutgoingPaymentReader {
  const lookUp = createLookup<OutgoingPaymentRow>({
    pool: deps.pool,
    name: 'get-outgoing-payments',
    text: `select ${OUTGOING_PAYMENT_COLUMNS} from ${OUTGOING_PAYMENT_TABLES} where p.id = any($1)`
  })
  return {
    async find(id) {
      const row = await lookUp(id)
      return row && readOutgoingPaymentRow(row, deps.urls)
    }
  }
}
