/** The resource server as a part of a larger process: the quick start and the tests run it so. */
export { composeResourceServer, type ResourceServerOverrides, type RunningResourceServer } from './compose.js'
export { loadConfig, type ResourceServerConfig } from './config.js'
export { refuseUnsafeStart } from './refuse-unsafe-start.js'
