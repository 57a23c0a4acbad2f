export { createDatabaseIfMissing } from './create-database.js'
export {
  isCheckViolation,
  isSerializationFailure,
  isTransient,
  isUnavailable,
  isUniqueViolation
} from './errors.js'
export { type DatabaseProblem, findDatabaseProblem, findNewestMigration } from './find-problem.js'
export { isoInstant } from './instant.js'
export { type KeysetList, type KeysetRange, type KeysetRows, queryKeyset } from './keyset.js'
export { createLookup, type LookupOptions } from './lookup.js'
export { migrateDatabase, MigrationFailed, migrationSql, type MigrateOptions } from './migrate.js'
export { createPool, observeAcquisition, type Pooler, type PoolOptions } from './pool.js'
export { readSnapshot, type Snapshot } from './snapshot.js'
export { writeTogether } from './write-together.js'
