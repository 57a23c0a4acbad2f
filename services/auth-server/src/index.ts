export { type AuthServerOverrides, composeAuthServer, type RunningAuthServer } from './compose.js'
export { loadConfig } from './config.js'
export { refuseUnsafeStart } from './refuse-unsafe-start.js'
