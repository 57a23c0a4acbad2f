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
