import { readdir } from 'node:fs/promises'
import { sqltag as sql } from '@prisma/client/runtime/client'
import { isMissingRelation } from './errors.js'
import type { RawQueries } from './raw-queries.js'

/** Problems of a database that answers, in words that anyone may read. */
export type DatabaseProblem =
  'is read-only' | 'gives sessions another time zone than UTC' | 'has not been migrated to this version'

const NOT_MIGRATED: DatabaseProblem = 'has not been migrated to this version'

/**
 * Checks with one statement whether the database is writable, whether its time zone is what Prisma assumes (it reads and
 * writes instants without one), and whether it is migrated. Newer migrations do no harm: each version runs on the schema of
 * the next.
 *
 * @param migration name of the newest migration of this version
 * @throws Prisma's error when the database does not answer
 */
export async function findDatabaseProblem(
  database: RawQueries,
  migration: string
): Promise<DatabaseProblem | undefined> {
  try {
    const [row] = await database.$queryRaw<{ read_only: boolean; is_utc: boolean; migrated: boolean }[]>(
      sql`select current_setting('transaction_read_only') = 'on' as read_only, current_setting('TimeZone') in ('UTC', 'Etc/UTC', 'GMT', 'Etc/GMT') as is_utc,
                 exists (select 1 from _prisma_migrations
                          where migration_name = ${migration} and finished_at is not null
                            and rolled_back_at is null) as migrated`
    )
    if (row?.read_only === true) return 'is read-only'
    if (row?.is_utc !== true) return 'gives sessions another time zone than UTC'
    return row.migrated ? undefined : NOT_MIGRATED
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
