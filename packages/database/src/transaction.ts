import { isSerializationFailure } from './errors.js'
import type { RawQueries } from './raw-queries.js'

/** How often a transaction that lost against another one is tried again. */
const RETRIES_MAX = 3

/** A service's `PrismaClient`, as far as transactions need it. */
export interface TransactionalClient<Transaction extends RawQueries = RawQueries> {
  /**
   * Runs `work` in a transaction: committed when it resolves, undone when it rejects.
   *
   * @param options.maxWait longest that a connection is waited for, in milliseconds
   * @param options.timeout longest that it may take, in milliseconds
   */
  $transaction<Result>(
    work: (transaction: Transaction) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number; isolationLevel?: 'RepeatableRead' }
  ): Promise<Result>
}

/**
 * Runs `work` in a transaction; again, when it lost against another one. Nothing but the database may be waited for in it.
 *
 * @throws what `work` or the database throws; then nothing of it is kept
 */
export async function inTransaction<Transaction extends RawQueries, Result>(
  client: TransactionalClient<Transaction>,
  work: (transaction: Transaction) => Promise<Result>
): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await client.$transaction(work)
    } catch (error) {
      if (!isSerializationFailure(error) || retries >= RETRIES_MAX) throw error
    }
  }
}
