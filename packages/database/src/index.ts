export { createPrismaAdapter } from './adapter.js'
export { createDatabaseIfMissing } from './create-database.js'
export {
  isCommittingAlone,
  isSerializationFailure,
  isTransient,
  isUnavailable,
  isUniqueViolation
} from './errors.js'
export { findDatabaseProblem, findNewestMigration } from './find-problem.js'
export { instantText } from './instant.js'
export { createKeyset, type KeysetList } from './keyset.js'
export { createLookup } from './lookup.js'
export { migrateDatabase } from './migrate.js'
export { type ClientOptions, type OpenDatabase, openDatabase } from './open-database.js'
export { createPool, type DatabasePool, observeAcquisition, type Pooler, type PoolOptions } from './pool.js'
export type { RawQueries } from './raw-queries.js'
export { type Durability, readServerState, type ServerState } from './server-state.js'
export { readSnapshot } from './snapshot.js'
export { rawSql, sql, type Sql } from './sql.js'
export { bytesText, placeholder, readBytes, Statement, supplied } from './statement.js'
export { currentIncarnation } from './timeline.js'
export { inTransaction, type TransactionalClient } from './transaction.js'
export { writeTogether } from './write-together.js'
