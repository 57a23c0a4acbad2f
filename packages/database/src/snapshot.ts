import type pg from 'pg'
import type { PatientStatement } from './limited-client.js'
import { answerGraceMs } from './pool.js'

/** A database as it was at one moment. */
export interface Snapshot {
  /**
   * Asks it something.
   *
   * @param text one statement that writes nothing
   * @param values of its parameters
   */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<readonly Row[]>
}

/**
 * Reads a database as it is at this moment, whatever is written meanwhile, and locks nothing. For what looks at everything: its
 * statements may take longer than the pool lets others take, and PostgreSQL plans them as it would by itself.
 *
 * @param statementTimeoutMs longest that one statement may take
 * @param read asks the snapshot, which is gone when it ends
 * @throws what `read` or the database throws
 */
export async function readSnapshot<Result>(
  pool: pg.Pool,
  statementTimeoutMs: number,
  read: (snapshot: Snapshot) => Promise<Result>
): Promise<Result> {
  const answerTimeoutMs = statementTimeoutMs + answerGraceMs
  const client = await pool.connect()
  try {
    await client.query(`
      begin isolation level repeatable read read only;
      set local statement_timeout = ${String(statementTimeoutMs)};
      set local plan_cache_mode = auto;
      set local enable_seqscan = on`)
    return await read({
      query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) => {
        const statement: PatientStatement = { text, values, answerTimeoutMs }
        return (await client.query<Row>(statement)).rows
      }
    })
  } finally {
    // Nothing was written: there is nothing to commit. A connection that cannot even roll back is of no more use.
    const isBroken = await client.query('rollback').then(
      () => false,
      () => true
    )
    client.release(isBroken)
  }
}
