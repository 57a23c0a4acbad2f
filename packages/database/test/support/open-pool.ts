import type pg from 'pg'
import { createPool, type PoolOptions } from '../../src/index.js'

/**
 * Opens a small pool to the PostgreSQL of the tests. Whoever opens it ends it.
 *
 * @param options what is different from others
 */
export function openPool(options: Partial<PoolOptions> = {}): pg.Pool {
  return createPool({
    url: process.env.TEST_POSTGRES_URL ?? '',
    connectionsMax: 2,
    applicationName: 'database-test',
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 5_000,
    ...options
  })
}
