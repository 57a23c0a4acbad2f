import { findDatabaseProblem, findNewestMigration, type RawQueries } from '@open-payments-server/database'
import type { Dependency } from './readiness.js'

/**
 * The service's own database: it must answer, be writable, and have the migrations of this version.
 *
 * @param migrationsPath the folder with one folder per migration
 */
export function databaseDependency(database: RawQueries, migrationsPath: string): Dependency {
  let newest: Promise<string> | undefined
  return {
    name: 'database',
    needed: 'always',
    check: async () => {
      newest ??= findNewestMigration(migrationsPath)
      return findDatabaseProblem(database, await newest)
    }
  }
}
