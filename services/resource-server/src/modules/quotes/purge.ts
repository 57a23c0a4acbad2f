import { purgeExpired } from '@open-payments-server/service-kit/purge'
import { Prisma } from '../database.js'
import { isPaidFrom } from '../outgoing-payments/index.js'

/** Deletes expired quotes. One that a payment used is kept as the record of the payment's terms. */
export const purgeQuotes = purgeExpired({
  name: 'purge-quotes',
  table: {
    from: Prisma.sql`from quote`,
    update: Prisma.sql`update quote`,
    deleteFrom: Prisma.sql`delete from quote`
  },
  isKept: isPaidFrom(Prisma.sql`due.id`)
})
