export { ensurePrivateKey } from './client-keys.js'
export { type AuditCheck, type OperatorAccount, OperatorClient } from './operator-client.js'
export { openPage } from './open-page.js'
export type { NewPeer } from './peer-client.js'
