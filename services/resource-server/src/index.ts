/** The resource server as part of a larger process, for the quick start and the tests. */
export { composeResourceServer, type ResourceServerOverrides, type RunningResourceServer } from './compose.js'
export { loadConfig } from './config.js'
export { refuseUnsafeStart } from './refuse-unsafe-start.js'
