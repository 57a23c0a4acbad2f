import { createLookup, placeholder, Statement } from '@open-payments-server/database'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  readIncomingPaymentRow
} from './row.js'

/** Reads incoming payments. */
export interface IncomingPaymentReader {
  /** Finds a payment by its id (UUID). */
  find(id: string): Promise<IncomingPayment | undefined>
}

/** One statement over four tables for all that arrive together: Prisma's models would send one for each table. */
const BY_ID = new Statement<IncomingPaymentRow>(
  'get-incoming-payments',
  Prisma.sql`select ${INCOMING_PAYMENT_COLUMNS} from incoming_payment p ${INCOMING_PAYMENT_JOINS}
              where p.id = any(${placeholder('ids')}::uuid[])`
)

/** Reads incoming payments, batching concurrent reads into one statement. */
export function createIncomingPaymentReader(dependencies: {
  database: Queries
  urls: ResourceUrls
}): IncomingPaymentReader {
  const lookUp = createLookup((ids) => BY_ID.rows(dependencies.database, { ids }))
  return {
    async find(id) {
      const row = await lookUp(id)
      return row && readIncomingPaymentRow(row, dependencies.urls)
    }
  }
}
