import { purgeExpired } from '@open-payments-server/service-kit/purge'
import { Prisma } from '../database.js'
import { hasDelivery } from '../ledger/index.js'
import { isReturnedTo } from '../refunds/index.js'

/**
 * Deletes expired incoming payments that never received anything, and that no refund was to be paid to. Nothing is delivered after
 * the expiry, and during a delivery the row is locked.
 */
export const purgeIncomingPayments = purgeExpired({
  name: 'purge-incoming-payments',
  table: {
    from: Prisma.sql`from incoming_payment`,
    update: Prisma.sql`update incoming_payment`,
    deleteFrom: Prisma.sql`delete from incoming_payment`
  },
  isKept: Prisma.sql`due.received_value > 0 or ${hasDelivery(Prisma.sql`due.id`)}
    or ${isReturnedTo(Prisma.sql`due.id`)}`
})
