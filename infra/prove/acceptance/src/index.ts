/** A whole system for tests, in this process or in separate ones, and the actions of its clients. Other test packages use it. */
export {
  consentedToken,
  interact,
  openInteraction,
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  requestToken
} from './consent.js'
export { type ConnectedSystem, connectToSystem, type TestClient } from './connect-system.js'
export { allSettled, amount, converged, createReceiver, eventually, pay } from './payments.js'
export { AnswerLoser } from './providers/answer-loser.js'
export { Inspector } from './inspector.js'
export { createDestination, createPeer, PEER_NAME, peerSystems } from './peering.js'
export { PATIENT, persistent, withPersistentClients } from './patience.js'
export { connectInRealTime, QUICK } from './process-system.js'
export {
  type CommandOutput,
  OPERATOR_CLI,
  operatorCliEnvironment,
  runOperatorCli
} from './run-operator-cli.js'
export { planSystem, type PlanOptions, type Settings, type SystemPlan } from './plan-system.js'
export type { ServiceName } from './service-name.js'
export { decideUnknownPackets } from './unknown-packets.js'
export { runMigration, ServiceProcess, type ServiceProcessOptions } from './service-process.js'
export { startSystem, type System } from './system.js'
export { CLIENT_NAMES, createSystemTls, SERVER_NAMES, type SystemTls } from './system-tls.js'
export {
  forgetReservations,
  type Groundwork,
  layGroundwork,
  type RequestKind,
  requestKinds
} from './request-kinds.js'
