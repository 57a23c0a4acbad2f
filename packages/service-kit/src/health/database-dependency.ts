import {
  findDatabaseProblem,
  findNewestMigration,
  isCommittingAlone,
  type RawQueries
} from '@open-payments-server/database'
import type { Dependency } from './readiness.js'

/**
 * The service's own database: it must answer, be writable, have the migrations of this version, and keep commits as the service was
 * told. One that no longer keeps them was lost to all replicas at once: those that have used it stay ready, because an answer that
 * says so is better than none, and the connections that they have go on.
 *
 * @param migrationsPath the folder with one folder per migration
 */
export function databaseDependency(database: RawQueries, migrationsPath: string): Dependency {
  let newest: Promise<string> | undefined
  let wasUsed = false
  return {
    name: 'database',
    needed: 'always',
    check: async () => {
      newest ??= findNewestMigration(migrationsPath)
      try {
        const problem = await findDatabaseProblem(database, await newest)
        wasUsed ||= problem === undefined
        return problem
      } catch (error) {
        if (!isCommittingAlone(error)) throw error
        return wasUsed ? undefined : 'commits without a standby'
      }
    }
  }
}
