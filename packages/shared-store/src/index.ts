export { COUNTED_OPERATIONS, countErrors, type StoreErrorCounter } from './counted-store.js'
export { createInProcessStore } from './in-process-store.js'
export { type OpenSharedStoreOptions, openSharedStore } from './open-shared-store.js'
export { type RedisStoreOptions } from './redis-connection.js'
export { createRedisStore } from './redis-store.js'
export {
  SharedStoreUnavailable,
  keyLengthMax,
  type SharedStore,
  type Subscription,
  type SubscriptionHandlers
} from './shared-store.js'
