import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/**
 * How long a migration may wait for a lock. Whatever queues behind it waits as long, so it is short, and the migration is
 * retried after a pause in which others continue.
 */
const LOCK_TIMEOUT_MS = 500
/** Pause before a migration retries to get its locks: at least this long, and up to twice as long. */
const RETRY_PAUSE_MS = 1_000
/** How long a migration tries to get its locks before it gives up. */
const LOCK_WAIT_MAX_MS = 300_000
/** Pause between batches, in which others get their turn. */
const BATCH_PAUSE_MS = 50

/** SQLSTATE of a lock that was not available in time. */
const LOCK_NOT_AVAILABLE = '55P03'

/** How a migration that waits for locks is retried. */
export interface LockWaiting {
  /** How long one attempt waits for a lock; half a second unless given. */
  readonly lockTimeoutMs?: number
  /** Minimum pause between attempts; a second unless given. */
  readonly retryPauseMs?: number
  /** How long it is retried; five minutes unless given. */
  readonly lockWaitMaxMs?: number
  readonly log?: ((line: string) => void) | undefined
}

/** A migration could not get its locks. The message says which sessions may have taken them and what to do. */
export class LocksHeld extends Error {
  override readonly name = 'LocksHeld'
}

/**
 * Runs the script of one migration, in the way that its first comment `-- run: …` requests:
 * - by default as one transaction, which also records that the migration is done. So a migration without a recorded end has
 *   left nothing behind. It waits for locks only for a moment, repeatedly.
 * - `alone`: its single statement outside any transaction, as `create index concurrently if not exists` needs. A useless
 *   index left by an interrupted attempt is dropped first.
 * - `in batches`: its single statement repeatedly, each time as its own transaction, until it changes nothing.
 *
 * The last two can be run again after any failure.
 *
 * @param migration.id of its row in `_prisma_migrations`, which has no end yet
 * @throws LocksHeld when it did not get its locks; PostgreSQL's errors in the script
 */
export async function runMigration(
  client: pg.Client,
  { id, script }: { readonly id: string; readonly script: string },
  waiting: LockWaiting = {}
): Promise<void> {
  const mode = modeOf(script)
  if (mode === 'as a transaction') return runAsTransaction(client, id, script, waiting)
  if (mode === 'alone') await runAlone(client, script)
  else await runInBatches(client, script)
  await client.query(recordEnd(id))
}

/** How a script requests to be run. */
export type MigrationMode = 'as a transaction' | 'alone' | 'in batches'

/** @returns how a script requests to be run */
export function modeOf(script: string): MigrationMode {
  const [, mode] = /^-- run: (alone|in batches)$/m.exec(script) ?? []
  return (mode as MigrationMode | undefined) ?? 'as a transaction'
}

/**
 * Comes first in the transaction, so that the row is locked until its end is known, even if the client is gone: others that
 * check whether the migration is done wait. It fails where another process gave the migration up meanwhile.
 */
function recordEnd(id: string): string {
  return `do $record$ begin
  update _prisma_migrations set finished_at = clock_timestamp(), applied_steps_count = 1
   where id = ${pg.escapeLiteral(id)} and rolled_back_at is null;
  if not found then raise exception 'another process migrates this database'; end if;
end $record$;
`
}

async function runAsTransaction(
  client: pg.Client,
  id: string,
  script: string,
  waiting: LockWaiting
): Promise<void> {
  const {
    lockTimeoutMs = LOCK_TIMEOUT_MS,
    retryPauseMs = RETRY_PAUSE_MS,
    lockWaitMaxMs = LOCK_WAIT_MAX_MS,
    log
  } = waiting
  const givesUpAt = Date.now() + lockWaitMaxMs
  for (;;) {
    try {
      // Sent as one text, PostgreSQL runs it as one transaction.
      await client.query(`set local lock_timeout = ${String(lockTimeoutMs)};\n${recordEnd(id)}${script}`)
      return
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      if (Date.now() > givesUpAt) throw new LocksHeld(await describeHolders(client), { cause: error })
      log?.('others have taken a lock that the migration needs; it is tried again')
      await delay(retryPauseMs * (1 + Math.random()))
    }
  }
}

async function runAlone(client: pg.Client, script: string): Promise<void> {
  const index = concurrentIndexOf(script)
  if (index !== undefined) await dropIfInvalid(client, index)
  await client.query(script)
}

async function runInBatches(client: pg.Client, script: string): Promise<void> {
  for (;;) {
    const { rowCount } = await client.query(script)
    if (rowCount === null || rowCount === 0) return
    await delay(BATCH_PAUSE_MS)
  }
}

/** Name of the index that a script creates without blocking writes; undefined when it does something else. */
function concurrentIndexOf(script: string): string | undefined {
  return /create (?:unique )?index concurrently if not exists (\w+)/i.exec(script)?.[1]
}

/** An interrupted attempt leaves an index that is maintained but never used. */
async function dropIfInvalid(client: pg.Client, index: string): Promise<void> {
  const { rowCount } = await client.query(
    'select 1 from pg_index where indexrelid = to_regclass($1) and not indisvalid',
    [index]
  )
  if (rowCount !== 0) await client.query(`drop index concurrently if exists ${pg.escapeIdentifier(index)}`)
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE
}

interface Holder {
  readonly pid: number
  readonly application_name: string
  readonly seconds: string
}

/** Names the oldest transactions: a session with a long-lived lock is one of them. */
async function describeHolders(client: pg.Client): Promise<string> {
  const { rows } = await client.query<Holder>(
    `select pid, application_name, round(extract(epoch from now() - xact_start)) as seconds
       from pg_stat_activity
      where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
      order by xact_start limit 5`
  )
  const holders = rows.map(
    ({ pid, application_name, seconds }) => `pid ${String(pid)} (${application_name}) for ${seconds} s`
  )
  return (
    'others have taken a lock that it needs. Transactions that are open: ' +
    `${holders.length === 0 ? 'none any more' : holders.join(', ')}. ` +
    'Wait until the old ones end, or end them with pg_terminate_backend(pid), and migrate again'
  )
}
