import { raw, sqltag as sql } from '@prisma/client/runtime/client'
import { PATIENT_TIMEOUT_MS } from './pool.js'
import type { RawQueries } from './raw-queries.js'
import type { TransactionalClient } from './transaction.js'

/** Longest that a connection for a snapshot is waited for, in milliseconds. */
const CONNECTION_WAIT_MAX_MS = 10_000
/** Longest that a snapshot may be kept, in milliseconds: PostgreSQL cleans up nothing that it could still see. */
const SNAPSHOT_AGE_MAX_MS = 3_600_000

/**
 * Reads a database as it is at this moment, whatever is written meanwhile, and locks nothing. For what looks at everything:
 * PostgreSQL plans its statements as it would by itself, and lets them take long, also behind a pooler.
 *
 * @param client on a pool whose statements may take as long as those of `read` (`createPatientPool`)
 * @param read asks the snapshot, which is gone when it ends; it may write nothing
 * @throws what `read` or the database throws
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
