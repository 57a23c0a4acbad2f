import { findDatabaseProblem, findNewestMigration } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { Dependency } from './readiness.js'

/**
 * The service's own database: it must answer, take changes, and have the migrations of this version.
 *
 * @param migrationsPath the folder with one folder per migration
 */
export function databaseDependency(pool: Pool, migrationsPath: string): Dependency {
  let newest: Promise<string> | undefined
  return {
    name: 'database',
    needed: 'always',
    check: async () => {
      newest ??= findNewestMigration(migrationsPath)
      return findDatabaseProblem(pool, await newest)
    }
  }
}
