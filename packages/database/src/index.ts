export { createPrismaAdapter } from './adapter.js'
export { createDatabaseIfMissing } from './create-database.js'
export {
  isSerializationFailure,
  isTransient,
  isUnavailable,
  isUniqueViolation
} from './errors.js'
export { type DatabaseProblem, findDatabaseProblem, findNewestMigration } from './find-problem.js'
export { instantText } from './instant.js'
export {
  createKeyset,
  type KeysetList,
  type KeysetRange,
  type KeysetRows,
  type ReadKeyset
} from './keyset.js'
export { createLookup } from './lookup.js'
export { migrateDatabase, MigrationFailed, type MigrateOptions } from './migrate.js'
export { type ClientOptions, type OpenDatabase, openDatabase } from './open-database.js'
export {
  createPatientPool,
  createPool,
  type DatabasePool,
  observeAcquisition,
  type Pooler,
  type PoolOptions
} from './pool.js'
export type { RawQueries } from './raw-queries.js'
export { readSnapshot } from './snapshot.js'
export { rawSql, sql, type Sql } from './sql.js'
export {
  bytesText,
  type Placeholder,
  placeholder,
  readBytes,
  Statement,
  type StatementValues
} from './statement.js'
export { inTransaction, type TransactionalClient } from './transaction.js'
export { writeTogether } from './write-together.js'
