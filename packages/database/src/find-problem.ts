import { readdir } from 'node:fs/promises'
import type { Pool } from 'pg'
import { isMissingRelation } from './errors.js'

/** What can be wrong with a database that answers, in words that anybody may read. */
export type DatabaseProblem = 'is read-only' | 'has not been migrated to this version'

const NOT_MIGRATED: DatabaseProblem = 'has not been migrated to this version'

/**
 * Looks whether the database takes changes and has a migration, with one statement. Newer migrations do no harm: each version
 * runs on the schema of the next.
 *
 * @param migration name of the newest migration of this version
 * @throws what pg throws when the database does not answer
 */
export async function findDatabaseProblem(
  pool: Pool,
  migration: string
): Promise<DatabaseProblem | undefined> {
  try {
    const { rows } = await pool.query<{ read_only: boolean; migrated: boolean }>(
      `select current_setting('transaction_read_only') = 'on' as read_only,
              exists (select 1 from _prisma_migrations
                       where migration_name = $1 and finished_at is not null and rolled_back_at is null) as migrated`,
      [migration]
    )
    if (rows[0]?.read_only === true) return 'is read-only'
    return rows[0]?.migrated === true ? undefined : NOT_MIGRATED
  } catch (error) {
    if (isMissingRelation(error)) return NOT_MIGRATED
    throw error
  }
}

/**
 * Name of the newest migration.
 *
 * @param migrationsPath the folder with one folder per migration, each with a `migration.sql`
 * @throws Error when there is none
 */
export async function findNewestMigration(migrationsPath: string): Promise<string> {
  const entries = await readdir(migrationsPath, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  const newest = names.sort().at(-1)
  if (newest === undefined) throw new Error('There are no migrations')
  return newest
}
