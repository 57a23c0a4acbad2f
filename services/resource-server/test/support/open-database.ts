import { createPrismaAdapter, type DatabasePool } from '@open-payments-server/database'
import { PrismaClient } from '../../src/generated/prisma/client.js'

const opened = new WeakMap<DatabasePool, PrismaClient>()

/** The client of the resource server's database on a pool, as the service has one. Whoever opened the pool ends it. */
export function openDatabase(pool: DatabasePool): PrismaClient {
  const known = opened.get(pool)
  if (known !== undefined) return known
  const client = new PrismaClient({
    adapter: createPrismaAdapter(pool, 'none'),
    transactionOptions: { maxWait: 10_000, timeout: 20_000 }
  })
  opened.set(pool, client)
  return client
}
