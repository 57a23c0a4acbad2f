import { Prisma } from '../database.js'
import { isPaidFrom } from '../outgoing-payments/index.js'
import { purgeStatement } from '../purge-statement.js'

/** Deletes quotes that are over. One that a payment used is the record of what that payment was offered. */
export const purgeQuotes = purgeStatement({
  name: 'purge-quotes',
  table: Prisma.sql`quote`,
  isKept: isPaidFrom(Prisma.sql`due.id`)
})
