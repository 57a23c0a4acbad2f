export { createHeldTokens, type HeldTokens } from './held-tokens.js'
export { createSessions, type Sessions } from './sessions.js'
