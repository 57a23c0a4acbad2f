import { Prisma } from '../database.js'
import { isPaidFrom } from '../outgoing-payments/index.js'
import { purgeStatement } from '../purge-statement.js'

/** Deletes expired quotes. One that a payment used is kept as the record of the payment's terms. */
export const purgeQuotes = purgeStatement({
  name: 'purge-quotes',
  table: Prisma.sql`quote`,
  isKept: isPaidFrom(Prisma.sql`due.id`)
})
