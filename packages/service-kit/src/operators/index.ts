/** Who operates: people by their ID token, machines by their certificate, and the role that each call needs. */
export { admitOperators, type OperatorContext, type OperatorHandlers, type Operators } from './admission.js'
export { OPERATOR_TOKEN_KEY } from './operator-tokens.js'
export type { Actor, Role, RolesOf } from './operator.js'
export {
  type Act,
  type ActAmount,
  type Acting,
  deferred,
  type Later,
  type PersonName,
  type Subject
} from './acts/act.js'
export { createActionService } from './acts/action-service.js'
export { Acts, type OperatorActs } from './acts/acts.js'
export type { SecondPersonConfig } from './acts/second-person.js'
export { openOperators, startOperators } from './open-operators.js'
export { refusePairwiseIssuers } from './pairwise.js'
export { EVENT_ROLES, WEBHOOK_ROLES } from './roles.js'
export { findUnsafeOperators, parseOperatorIssuers } from './settings.js'
