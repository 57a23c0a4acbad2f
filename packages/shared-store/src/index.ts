export { COUNTED_OPERATIONS, countErrors } from './counted-store.js'
export { createInProcessStore } from './in-process-store.js'
export { openSharedStore } from './open-shared-store.js'
export { SharedStoreUnavailable, type SharedStore } from './shared-store.js'
