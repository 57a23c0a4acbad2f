import { setTimeout as delay } from 'node:timers/promises'
import type { TestQuery } from './test-database.js'

/** Waits until a statement of this database waits for a lock. */
export async function whenLocked(query: TestQuery): Promise<void> {
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await query(waiting)).length === 0) await delay(5)
}
