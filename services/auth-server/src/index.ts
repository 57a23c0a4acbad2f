export { type AuthServerOverrides, composeAuthServer, type RunningAuthServer } from './compose.js'
export { type AuthServerConfig, loadConfig } from './config.js'
export { refuseUnsafeStart } from './refuse-unsafe-start.js'
