export { composeWeb, type RunningWeb, type WebOverrides } from './compose.js'
export { loadConfig } from './config.js'
export { refuseUnsafeStart } from './refuse-unsafe-start.js'
