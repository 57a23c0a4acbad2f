import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { adapterWithoutDatabase, MigrationAdapterFactory } from './migration-adapter.js'
import { LocksHeld, type LockWaiting, modeOf } from './run-migration.js'
import { openSchemaEngine, type MigrationList, type SchemaEngine } from './schema-engine.js'

/** The advisory lock of the process that migrates a database. Differs from Prisma's number, which the engine locks too. */
const migrationLockKey = 7_281_904_535
/** How long to wait for another process that migrates. */
const otherMigrationMaxMs = 1_800_000
/** How often to check whether it has finished. */
const lockPollMs = 200
const noFilters = { externalTables: [], externalEnums: [] }

/** What to migrate, and from where. */
export interface MigrateOptions {
  /** URL of the database, as a user who may change its schema. */
  readonly url: string
  /** The Prisma schema file. */
  readonly schemaPath: string
  /** The folder with one folder per migration, each with a `migration.sql`. */
  readonly migrationsPath: string
  readonly log?: (line: string) => void
  /** How a migration that waits for locks is retried. */
  readonly lockWaiting?: Omit<LockWaiting, 'log'>
}

/** The database cannot be migrated. The message says why and what to do. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
}

/**
 * Applies the migrations that the database does not have yet, in the order of their names, each as one transaction unless
 * it requests otherwise (see `runMigration`). Others may use the database meanwhile. Uses Prisma's own `_prisma_migrations`
 * table. If several processes migrate at once, one does the work and the others then find nothing to do. After any
 * interruption, running it again continues where it stopped.
 *
 * @param options.url connects to PostgreSQL directly, or through a pool that gives each client its own session
 * @returns the names of the migrations applied by this call
 * @throws MigrationFailed when the database cannot be reached, a migration fails, or one was edited after it was applied
 */
export async function migrateDatabase(options: MigrateOptions): Promise<{ applied: string[] }> {
  const schema = { path: resolve(options.schemaPath), content: await readFile(options.schemaPath, 'utf8') }
  const migrationsList = await readMigrations(resolve(options.migrationsPath))
  return withMigrationLock(options.url, async () => {
    const pool = new pg.Pool({
      connectionString: options.url,
      // One connection, so that everything the engine does happens in one session.
      max: 1,
      application_name: 'migrations',
      // Without the user's own limit: scanning a big table takes as long as it takes.
      statement_timeout: 0
    })
    pool.on('error', (error) => options.log?.(`connection lost: ${error.message}`))
    try {
      await forgetInterrupted(pool, options.log)
      const factory = new MigrationAdapterFactory(pool, { ...options.lockWaiting, log: options.log })
      const engine = await openSchemaEngine(schema, factory)
      try {
        await refuseEdited(engine, migrationsList)
        return await applyMissing(engine, factory, migrationsList, options.log)
      } finally {
        engine.free()
      }
    } finally {
      await pool.end()
    }
  })
}

/**
 * The SQL that turns an empty database into what a Prisma schema describes: the draft of a first migration.
 *
 * @param schemaText the content of a schema file
 */
export async function migrationSql(schemaText: string): Promise<string> {
  const schema = { path: 'schema.prisma', content: schemaText }
  const engine = await openSchemaEngine(schema, adapterWithoutDatabase)
  try {
    const { stdout } = await engine.diff({
      from: { tag: 'empty' },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      filters: noFilters
    })
    return stdout ?? ''
  } finally {
    engine.free()
  }
}

async function readMigrations(baseDir: string): Promise<MigrationList> {
  const entries = await readdir(baseDir, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return {
    baseDir,
    lockfile: {
      path: './migration_lock.toml',
      content: await readOptional(join(baseDir, 'migration_lock.toml'))
    },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.sort().map(async (path) => ({
        path,
        migrationFile: {
          path: 'migration.sql',
          content: { tag: 'ok' as const, value: await readFile(join(baseDir, path, 'migration.sql'), 'utf8') }
        }
      }))
    )
  }
}

async function readOptional(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Polls instead of waiting in the database: `create index concurrently` waits for a session that waits there for a lock, so
 * both would wait for ever.
 */
async function withMigrationLock<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url, application_name: 'migrations-lock' })
  // A lost connection releases the lock; the work then fails, or has failed, by itself.
  client.on('error', () => undefined)
  await client.connect().catch((error: unknown) => {
    throw new MigrationFailed(describeUnreachable(error), { cause: error })
  })
  try {
    const givesUpAt = Date.now() + otherMigrationMaxMs
    while (!(await tryLock(client))) {
      if (Date.now() > givesUpAt) {
        throw new MigrationFailed(
          'another process has been migrating this database for half an hour: see what it waits for ' +
            "(select * from pg_stat_activity where application_name = 'migrations')"
        )
      }
      await delay(lockPollMs)
    }
    return await work()
  } finally {
    await client.end()
  }
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
    migrationLockKey
  ])
  return rows[0]?.locked === true
}

/**
 * A migration without a recorded end left nothing behind, or can be run again: see `runMigration`. Prisma would refuse all
 * others because of it.
 */
async function forgetInterrupted(pool: pg.Pool, log: ((line: string) => void) | undefined): Promise<void> {
  const { rows: found } = await pool.query<{ exists: boolean }>(
    `select to_regclass('_prisma_migrations') is not null as exists`
  )
  if (found[0]?.exists !== true) return
  const { rows } = await pool.query<{ name: string }>(
    `update _prisma_migrations set rolled_back_at = now()
      where finished_at is null and rolled_back_at is null returning migration_name as name`
  )
  for (const { name } of rows) log?.(`${name} failed or was interrupted before: it is applied anew`)
}

async function refuseEdited(engine: SchemaEngine, migrationsList: MigrationList): Promise<void> {
  const { editedMigrationNames } = await engine.diagnoseMigrationHistory({
    migrationsList,
    optInToShadowDatabase: false,
    filters: noFilters
  })
  if (editedMigrationNames.length > 0) {
    throw new MigrationFailed(
      `edited after it was applied to this database: ${editedMigrationNames.join(', ')}. ` +
        'Restore the file and put the change into a new migration'
    )
  }
}

async function applyMissing(
  engine: SchemaEngine,
  factory: MigrationAdapterFactory,
  migrationsList: MigrationList,
  log: ((line: string) => void) | undefined
): Promise<{ applied: string[] }> {
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: noFilters })
    for (const name of appliedMigrationNames) log?.(`applied ${name}`)
    return { applied: appliedMigrationNames }
  } catch (error) {
    if (factory.failure === undefined) throw new MigrationFailed(readableEngineError(error), { cause: error })
    const { script, error: reason } = factory.failure
    throw new MigrationFailed(describeFailure(nameOf(script, migrationsList), script, reason), {
      cause: reason
    })
  }
}

function nameOf(script: string, { migrationDirectories }: MigrationList): string {
  const found = migrationDirectories.find(
    ({ migrationFile: { content } }) => content.tag === 'ok' && content.value === script
  )
  return found?.path ?? 'a migration'
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

/** The engine's own message ends in a stack trace of its source. */
function readableEngineError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const [reason = message] = message.split(/\n\s*0: /)
  return `the migrations could not be applied: ${reason}. Mend the cause, and migrate again`
}
