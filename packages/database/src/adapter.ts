import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import type { Pooler } from './pool.js'
import { statementNameOf } from './statement.js'

/**
 * What a service's `PrismaClient` reaches its database through: the pool, whose limits, traces and connections stay as they are.
 * A `Statement` is prepared once on each connection, but for one behind a pooler that gives every transaction another session.
 * What Prisma's models write is not: its texts change with the number of their values.
 *
 * @param pool from `createPool`; who made it ends it
 */
export function createPrismaAdapter(pool: Pool, pooler: Pooler): PrismaPg {
  if (pooler === 'transaction') return new PrismaPg(pool)
  // An empty name is none.
  return new PrismaPg(pool, { statementNameGenerator: ({ sql }) => statementNameOf(sql) ?? '' })
}
