import type { Prisma as PrismaTypes, PrismaClient } from '../generated/prisma/client.js'

/** Composes statements and fragments of them. */
export { Prisma } from '../generated/prisma/client.js'

/** The resource server's database. */
export type Database = PrismaClient

/** The database, or a transaction in it. */
export type Queries = PrismaTypes.TransactionClient
