import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import type { Pooler } from './pool.js'
import { statementNameOf } from './statement.js'

/**
 * The adapter between a service's `PrismaClient` and its pool, which keeps its timeouts, traces and connections. A
 * `Statement` is prepared once on each connection, unless a pooler gives every transaction another session. Statements of
 * Prisma's models are not prepared: their texts change with the number of their values.
 *
 * @param pool from `createPool`; whoever created it closes it
 */
export function createPrismaAdapter(pool: Pool, pooler: Pooler): PrismaPg {
  if (pooler === 'transaction') return new PrismaPg(pool)
  // An empty name counts as none.
  return new PrismaPg(pool, { statementNameGenerator: ({ sql }) => statementNameOf(sql) ?? '' })
}
