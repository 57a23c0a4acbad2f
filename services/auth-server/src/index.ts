export { composeAuthServer, type Overrides, type RunningAuthServer } from './compose.js'
export { type AuthServerConfig, authServerSchema, loadConfig } from './config.js'
