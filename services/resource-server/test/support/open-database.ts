import { createPrismaAdapter } from '@open-payments-server/database'
import type { Pool } from 'pg'
import { PrismaClient } from '../../src/generated/prisma/client.js'

const opened = new WeakMap<Pool, PrismaClient>()

/** The client of the resource server's database on a pool, as the service has one. Whoever opened the pool ends it. */
export function openDatabase(pool: Pool): PrismaClient {
  const known = opened.get(pool)
  if (known !== undefined) return known
  const client = new PrismaClient({
    adapter: createPrismaAdapter(pool, 'none'),
    transactionOptions: { maxWait: 10_000, timeout: 20_000 }
  })
  opened.set(pool, client)
  return client
}
