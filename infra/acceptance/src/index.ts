/** A whole system for tests, in this process or planned for others, and what its clients do. For other tests of the whole. */
export {
  consentedToken,
  interact,
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  requestToken
} from './consent.js'
export {
  type ConnectedSystem,
  connectToSystem,
  OPENING_BALANCE,
  type TestClient,
  type WalletName
} from './connect-system.js'
export { allSettled, amount, createReceiver, eventually, pay } from './payments.js'
export {
  type AuthServerPlan,
  type Detours,
  type PlanOptions,
  planSystem,
  type ResourceServerPlan,
  type Settings,
  type SystemPlan
} from './plan-system.js'
export { startSystem, type System } from './system.js'
