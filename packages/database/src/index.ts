export { createDatabaseIfMissing } from './create-database.js'
export { isCheckViolation, isSerializationFailure, isUnavailable, isUniqueViolation } from './errors.js'
export { migrateDatabase, MigrationFailed, migrationSql, type MigrateOptions } from './migrate.js'
export { createPool, type PoolOptions } from './pool.js'
