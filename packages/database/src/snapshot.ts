import { raw, sqltag as sql } from '@prisma/client/runtime/client'
import { PATIENT_TIMEOUT_MS } from './pool.js'
import type { RawQueries } from './raw-queries.js'
import type { TransactionalClient } from './transaction.js'

/** Maximum time to wait for a connection for a snapshot, in milliseconds. */
const CONNECTION_WAIT_MAX_MS = 10_000
/** Maximum duration of a snapshot, in milliseconds: PostgreSQL cannot clean up anything that it could still see. */
const SNAPSHOT_AGE_MAX_MS = 3_600_000

/**
 * Reads a snapshot of a database, without locks, whatever is written meanwhile. For reading whole tables: PostgreSQL uses
 * its normal planning and allows long statements, also behind a pooler.
 *
 * @param client on a pool whose statements may take as long as those of `read` (`createPatientPool`)
 * @param read reads the snapshot, which ends with it; it must not write
 * @throws the error of `read` or the database
 */
export function readSnapshot<Transaction extends RawQueries, Result>(
  client: TransactionalClient<Transaction>,
  read: (snapshot: Transaction) => Promise<Result>
): Promise<Result> {
  return client.$transaction(
    async (transaction) => {
      await transaction.$queryRaw(raw('set transaction read only'))
      await transaction.$queryRaw(
        sql`select set_config('plan_cache_mode', 'auto', true), set_config('enable_seqscan', 'on', true),
                   set_config('statement_timeout', ${String(PATIENT_TIMEOUT_MS)}, true)`
      )
      return read(transaction)
    },
    { isolationLevel: 'RepeatableRead', maxWait: CONNECTION_WAIT_MAX_MS, timeout: SNAPSHOT_AGE_MAX_MS }
  )
}
