import { isSerializationFailure } from './errors.js'
import type { RawQueries } from './raw-queries.js'

/** How often a transaction that lost against another one is retried. */
const RETRIES_MAX = 3

/** The part of a service's `PrismaClient` that transactions need. */
export interface TransactionalClient<Transaction extends RawQueries = RawQueries> {
  /**
   * Runs `work` in a transaction: committed when it resolves, rolled back when it rejects.
   *
   * @param options.maxWait maximum time to wait for a connection, in milliseconds
   * @param options.timeout maximum duration, in milliseconds
   */
  $transaction<Result>(
    work: (transaction: Transaction) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number; isolationLevel?: 'RepeatableRead' }
  ): Promise<Result>
}

/**
 * Runs `work` in a transaction, and retries it if it lost against another one. It must not wait for anything but the
 * database.
 *
 * @param options.timeout maximum duration, in milliseconds; that of one statement unless given
 * @throws the error of `work` or the database; then nothing of it is kept
 */
export async function inTransaction<Transaction extends RawQueries, Result>(
  client: TransactionalClient<Transaction>,
  work: (transaction: Transaction) => Promise<Result>,
  options?: { readonly timeout: number }
): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await client.$transaction(work, options)
    } catch (error) {
      if (!isSerializationFailure(error) || retries >= RETRIES_MAX) throw error
    }
  }
}
