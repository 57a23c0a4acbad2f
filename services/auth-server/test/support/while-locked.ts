import { setTimeout as delay } from 'node:timers/promises'
import type { TestDatabase } from '@open-payments-server/testing'

/**
 * Begins something while a row is locked, and unlocks it once that many statements wait for it: so that all of them have decided
 * by what they read before, and only what they check when they write keeps them apart.
 *
 * @param lock selects the row for update
 */
export async function whileLocked<Result>(
  database: TestDatabase,
  lock: { readonly text: string; readonly values: unknown[]; readonly waiting: number },
  work: () => Promise<Result>
): Promise<Result> {
  const { running } = await database.inTransaction(async (query) => {
    await query(lock.text, lock.values)
    const begun = { running: work() }
    await untilWaiting(database, lock.waiting)
    return begun
  })
  return running
}

/** Waits until that many statements wait for a lock. */
export async function untilWaiting(database: TestDatabase, waiting: number): Promise<void> {
  for (;;) {
    const [row] = await database.query<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
    )
    if ((row?.count ?? 0) >= waiting) return
    await delay(5)
  }
}
