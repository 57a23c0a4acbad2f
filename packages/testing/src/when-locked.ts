import { setTimeout as delay } from 'node:timers/promises'
import type { TestQuery } from './test-database.js'

/** Waits until statements of this database, so many or more, wait for locks. */
export async function whenLocked(query: TestQuery, countMin = 1): Promise<void> {
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await query(waiting)).length < countMin) await delay(5)
}
