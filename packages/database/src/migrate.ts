import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { splitDatabaseUrl } from '@open-payments-server/runtime/configuration'
import pg from 'pg'
import { Primary } from './primary.js'
import { LocksHeld, type LockWaiting, modeOf, runMigration } from './run-migration.js'

/** The advisory lock of the process that migrates a database: Prisma's own, so `prisma migrate` cannot run at the same time. */
const MIGRATION_LOCK_KEY = 72_707_369
/** How long to wait for another process that migrates. */
const OTHER_MIGRATION_MAX_MS = 1_800_000
/** How often to check whether it has finished. */
const LOCK_POLL_MS = 200

/** Prisma's own history table, as its schema engine creates it. A test compares the two. */
const CREATE_HISTORY = `create table if not exists _prisma_migrations (
  id varchar(36) primary key,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`

/** What to migrate, and from where. */
export interface MigrateOptions {
  /** URL of the database, as a user who may change its schema. */
  readonly url: string
  /** The folder with one folder per migration, each with a `migration.sql`. */
  readonly migrationsPath: string
  readonly log?: (line: string) => void
  /** How a migration that waits for locks is retried. */
  readonly lockWaiting?: Omit<LockWaiting, 'log'>
}

interface Migration {
  readonly name: string
  readonly script: string
  /** SHA-256 of the script in hexadecimal, as in Prisma's history. */
  readonly checksum: string
}

/** The database cannot be migrated. The message says why and what to do. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
}

/**
 * Applies the migrations that the database does not have yet, in the order of their names, each as one transaction unless
 * it requests otherwise (see `runMigration`). Others may use the database meanwhile. The history is Prisma's own, so that
 * `prisma migrate deploy` and `prisma migrate status` agree with it. If several processes migrate at once, one does the work and
 * the others then find nothing to do. After any interruption, running it again continues where it stopped.
 *
 * @param options.url connects to PostgreSQL directly, or through a pool that gives each client its own session
 * @returns the names of the migrations applied by this call
 * @throws MigrationFailed when the database cannot be reached, a migration fails, or one was edited after it was applied
 */
export async function migrateDatabase(options: MigrateOptions): Promise<{ applied: string[] }> {
  const { url, log, lockWaiting } = options
  const migrations = await readMigrations(resolve(options.migrationsPath))
  return withMigrationLock(url, async (client) => {
    const missing = await findMissing(client, migrations, log)
    for (const migration of missing) {
      await apply(client, migration, { ...lockWaiting, log })
      log?.(`applied ${migration.name}`)
    }
    return { applied: missing.map(({ name }) => name) }
  })
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const script = await readFile(join(folder, name, 'migration.sql'), 'utf8')
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') }
    })
  )
}

/**
 * Polls instead of waiting in the database: `create index concurrently` waits for a session that waits there for a lock, so
 * both would wait for ever.
 */
async function withMigrationLock<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>
): Promise<Result> {
  const client = await connect(url).catch((error: unknown) => {
    throw new MigrationFailed(describeUnreachable(error), { cause: error })
  })
  try {
    const givesUpAt = Date.now() + OTHER_MIGRATION_MAX_MS
    while (!(await tryLock(client))) {
      if (Date.now() > givesUpAt) {
        throw new MigrationFailed(
          'another process has been migrating this database for half an hour: see what it waits for ' +
            "(select * from pg_stat_activity where application_name = 'migrations')"
        )
      }
      await delay(LOCK_POLL_MS)
    }
    return await work(client)
  } finally {
    await client.end()
  }
}

async function connect(url: string): Promise<pg.Client> {
  const urls = splitDatabaseUrl(url) ?? [url]
  const client = new pg.Client({
    connectionString: urls.length === 1 ? url : await new Primary(urls).find(),
    application_name: 'migrations',
    // Without the user's own limit: scanning a big table takes as long as it takes.
    statement_timeout: 0
  })
  // A lost connection releases the lock, and the statement that runs on it fails.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** What to do when the database cannot be reached. Of `DATABASE_URL`, only the host is repeated. */
function describeUnreachable(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  switch (error instanceof pg.DatabaseError ? error.code : undefined) {
    case '28P01':
    case '28000':
      return `the database refuses the user of DATABASE_URL (${reason}): correct its name or password, or let it in`
    case '3D000':
      return `the database of DATABASE_URL is not there (${reason}): create it, or correct its name`
    default:
      return (
        `the database of DATABASE_URL cannot be reached (${reason}): correct its host, port or TLS, ` +
        'or let it accept connections from here, and migrate again'
      )
  }
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
    MIGRATION_LOCK_KEY
  ])
  return rows[0]?.locked === true
}

/**
 * A migration without a recorded end left nothing behind, or can be run again: see `runMigration`. It is marked as rolled back,
 * because Prisma would refuse all others because of it.
 *
 * @throws MigrationFailed when a migration was edited after it was applied
 */
async function findMissing(
  client: pg.Client,
  migrations: readonly Migration[],
  log: ((line: string) => void) | undefined
): Promise<Migration[]> {
  await client.query(CREATE_HISTORY)
  const interrupted = await client.query<{ name: string }>(
    `update _prisma_migrations set rolled_back_at = now()
      where finished_at is null and rolled_back_at is null returning migration_name as name`
  )
  for (const { name } of interrupted.rows) {
    log?.(`${name} failed or was interrupted before: it is applied anew`)
  }
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `select migration_name as name, checksum from _prisma_migrations
      where finished_at is not null and rolled_back_at is null`
  )
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]))
  const edited = migrations.filter(({ name, checksum }) => (applied.get(name) ?? checksum) !== checksum)
  if (edited.length > 0) {
    throw new MigrationFailed(
      `edited after it was applied to this database: ${edited.map(({ name }) => name).join(', ')}. ` +
        'Restore the file and put the change into a new migration'
    )
  }
  return migrations.filter(({ name }) => !applied.has(name))
}

/** @throws MigrationFailed when the migration fails */
async function apply(
  client: pg.Client,
  { name, script, checksum }: Migration,
  waiting: LockWaiting
): Promise<void> {
  const id = randomUUID()
  try {
    await client.query('insert into _prisma_migrations (id, checksum, migration_name) values ($1, $2, $3)', [
      id,
      checksum,
      name
    ])
    await runMigration(client, { id, script }, waiting)
  } catch (error) {
    throw new MigrationFailed(describeFailure(name, script, error), { cause: error })
  }
}

function describeFailure(name: string, script: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  if (!(error instanceof pg.DatabaseError || error instanceof LocksHeld) || isEnded(error)) {
    return (
      `the connection was lost while ${name} was applied (${reason}). ` +
      'Migrate again: what became of it is found out, and what is missing is applied'
    )
  }
  const left =
    modeOf(script) === 'as a transaction'
      ? 'nothing of it is left'
      : 'what it left is taken up when you migrate again'
  const advice =
    error instanceof LocksHeld ? '' : '. Nothing else was changed: mend the cause, and migrate again'
  return `${name} could not be applied, and ${left}: ${reason}${advice}`
}

/** The server ended the session: an administrator, a crash, or a shutdown (SQLSTATE 57P01 to 57P03). */
function isEnded(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^57P0[123]$/.test(error.code ?? '')
}
