export {
  createPurgeRepository,
  type PurgedBatch,
  type PurgeRange,
  type PurgeRepository,
  type PurgeStatement,
  type PurgeStatements
} from './repository.js'
export { createPurge, type PurgeBatch, type PurgeDependencies } from './purge.js'
export { createPurgeWorker } from './purge-worker.js'
export {
  dueRows,
  interval,
  PURGE_NOW,
  purgeEnded,
  PURGED_COUNTS,
  purgedRows,
  type PurgedTable,
  purgeExpired,
  RETENTION
} from './statement.js'
