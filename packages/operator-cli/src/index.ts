export { ensurePrivateKey } from './client-keys.js'
export {
  type AuditCheck,
  type GrantFilter,
  type Listed,
  type OperatorAccount,
  OperatorClient,
  type OperatorLostPayment,
  type OperatorPayment,
  type OperatorTargets,
  type OperatorWalletAddress
} from './operator-client.js'
export { runCli } from './run-cli.js'
export type { CliSurroundings } from './session.js'
