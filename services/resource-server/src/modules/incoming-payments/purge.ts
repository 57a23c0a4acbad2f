import { Prisma } from '../database.js'
import { hasDelivery } from '../ledger/index.js'
import { purgeStatement } from '../purge-statement.js'

/**
 * Deletes expired incoming payments that never received anything. Nothing is delivered after the expiry, and during a
 * delivery the row is locked.
 */
export const purgeIncomingPayments = purgeStatement({
  name: 'purge-incoming-payments',
  table: Prisma.sql`incoming_payment`,
  isKept: Prisma.sql`due.received_value > 0 or ${hasDelivery(Prisma.sql`due.id`)}`
})
