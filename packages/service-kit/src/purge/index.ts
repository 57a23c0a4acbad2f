export {
  createPurgeRepository,
  type PurgedBatch,
  type PurgeRepository,
  type PurgeStatement,
  type PurgeStatements
} from './repository.js'
export { createPurge } from './purge.js'
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
