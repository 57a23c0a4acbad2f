import { Prisma } from '../database.js'
import { hasDelivery } from '../ledger/index.js'
import { purgeStatement } from '../purge-statement.js'

/**
 * Deletes incoming payments that are over and never received anything. Nothing is delivered to one that has expired, and while
 * something is delivered its row is locked.
 */
export const purgeIncomingPayments = purgeStatement({
  name: 'purge-incoming-payments',
  table: Prisma.sql`incoming_payment`,
  isKept: Prisma.sql`due.received_value > 0 or ${hasDelivery(Prisma.sql`due.id`)}`
})
