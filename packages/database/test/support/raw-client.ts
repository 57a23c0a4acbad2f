import type { Sql } from '@prisma/client/runtime/client'
import type { Pool } from 'pg'
import {
  createPrismaAdapter,
  type Pooler,
  type RawQueries,
  type TransactionalClient
} from '../../src/index.js'

/**
 * What the `PrismaClient` of a service does with raw statements, through the same adapter: there is no client without a schema.
 */
export function openRawClient(pool: Pool, pooler: Pooler = 'none'): RawQueries & TransactionalClient {
  const adapter = createPrismaAdapter(pool, pooler).connect()
  const on = (queryable: { queryRaw: Awaited<typeof adapter>['queryRaw'] }): RawQueries => ({
    $queryRaw: async <Rows>({ text, values }: Sql) => {
      const args = [...values]
      const argTypes = args.map(() => ({ scalarType: 'unknown', arity: 'scalar' }) as const)
      const { columnNames, rows } = await queryable.queryRaw({ sql: text, args, argTypes })
      return rows.map((row) => Object.fromEntries(columnNames.map((name, at) => [name, row[at]]))) as Rows
    }
  })
  return {
    $queryRaw: async <Rows>(statement: Sql) => on(await adapter).$queryRaw<Rows>(statement),
    async $transaction(work, { isolationLevel } = {}) {
      const transaction = await (
        await adapter
      ).startTransaction(isolationLevel === 'RepeatableRead' ? 'REPEATABLE READ' : undefined)
      try {
        const result = await work(on(transaction))
        await transaction.executeRaw({ sql: 'COMMIT', args: [], argTypes: [] })
        await transaction.commit()
        return result
      } catch (error) {
        await transaction.executeRaw({ sql: 'ROLLBACK', args: [], argTypes: [] })
        await transaction.rollback()
        throw error
      }
    }
  }
}
