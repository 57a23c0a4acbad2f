import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { adapterWithoutDatabase, WholeScriptAdapterFactory } from './migration-adapter.js'
import { openSchemaEngine, type MigrationList, type SchemaEngine } from './schema-engine.js'

/** Held by whoever migrates a database, so that others wait. Not the number Prisma uses, which the engine takes too. */
const migrationLockKey = 7_281_904_535
/** How long to wait for another process that migrates. */
const lockTimeoutMs = 600_000
const noFilters = { externalTables: [], externalEnums: [] }

/** What to migrate, and from where. */
export interface MigrateOptions {
  /** Of the database, as a user who may change its schema. */
  readonly url: string
  /** The Prisma schema file. */
  readonly schemaPath: string
  /** The folder with one folder per migration, each with a `migration.sql`. */
  readonly migrationsPath: string
  readonly log?: (line: string) => void
}

/** The database cannot be brought up to date. The message says why and what to do. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
}

/**
 * Applies the migrations that the database does not have yet, each as one transaction, in the order of their names.
 * Keeps Prisma's own `_prisma_migrations` table, so `prisma migrate` elsewhere sees the same history. When several run
 * at once, one does the work and the others then find nothing to do.
 *
 * @returns the names of the migrations applied by this call
 * @throws MigrationFailed when a migration fails, failed before, or was edited after it was applied
 */
export async function migrateDatabase(options: MigrateOptions): Promise<{ applied: string[] }> {
  const schema = { path: resolve(options.schemaPath), content: await readFile(options.schemaPath, 'utf8') }
  const migrationsList = await readMigrations(resolve(options.migrationsPath))
  return withMigrationLock(options.url, async () => {
    // One connection, so that everything the engine does happens in one session.
    const pool = new pg.Pool({ connectionString: options.url, max: 1, application_name: 'migrations' })
    pool.on('error', (error) => options.log?.(`connection lost: ${error.message}`))
    try {
      const engine = await openSchemaEngine(schema, new WholeScriptAdapterFactory(pool))
      try {
        await refuseDamagedHistory(engine, migrationsList)
        return await applyMissing(engine, migrationsList, options.log)
      } finally {
        engine.free()
      }
    } finally {
      await pool.end()
    }
  })
}

/**
 * The SQL that makes an empty database into what a Prisma schema describes: the draft of a first migration.
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

async function withMigrationLock<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url, application_name: 'migrations-lock' })
  // A lost connection gives up the lock; the work then fails, or has failed, by itself.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(`set lock_timeout = ${String(lockTimeoutMs)}`)
    await client.query('select pg_advisory_lock($1)', [migrationLockKey])
    return await work()
  } finally {
    await client.end()
  }
}

async function refuseDamagedHistory(engine: SchemaEngine, migrationsList: MigrationList): Promise<void> {
  const { failedMigrationNames, editedMigrationNames } = await engine.diagnoseMigrationHistory({
    migrationsList,
    optInToShadowDatabase: false,
    filters: noFilters
  })
  if (failedMigrationNames.length > 0) {
    throw new MigrationFailed(
      `earlier failed, or was interrupted before its end was recorded: ${failedMigrationNames.join(', ')}. ` +
        'Nothing is repeated on its own: look whether its changes are there, then say so with `prisma migrate resolve`'
    )
  }
  if (editedMigrationNames.length > 0) {
    throw new MigrationFailed(
      `edited after it was applied to this database: ${editedMigrationNames.join(', ')}. ` +
        'Restore the file and put the change into a new migration'
    )
  }
}

async function applyMissing(
  engine: SchemaEngine,
  migrationsList: MigrationList,
  log: ((line: string) => void) | undefined
): Promise<{ applied: string[] }> {
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: noFilters })
    for (const name of appliedMigrationNames) log?.(`applied ${name}`)
    return { applied: appliedMigrationNames }
  } catch (error) {
    throw new MigrationFailed(readableEngineError(error), { cause: error })
  }
}

/** The engine's message ends in a trace of its own source; of that, only the migration's name is of use. */
function readableEngineError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const name = /migration_name=\\?"([^"\\]+)/.exec(message)?.[1] ?? 'a migration'
  const [reason = message] = message.split(/\n\s*0: /)
  return `${name} could not be applied, and nothing of it is left: ${reason}`
}
