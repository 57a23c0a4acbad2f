export { composeAuthServer, type AuthServerOverrides, type RunningAuthServer } from './compose.js'
export { type AuthServerConfig, authServerSchema, loadConfig } from './config.js'
export { refuseUnsafeStart } from './refuse-unsafe-start.js'
