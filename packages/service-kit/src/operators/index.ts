/** Who operates: people by their ID token, machines by their certificate, and the role that each call needs. */
export { admitOperators, type Operators } from './admission.js'
export { OPERATOR_TOKEN_KEY } from './operator-tokens.js'
export type { Role, RolesOf } from './operator.js'
export { openOperators } from './open-operators.js'
export { EVENT_ROLES, WEBHOOK_ROLES } from './roles.js'
export { findUnsafeOperators, parseOperatorIssuers } from './settings.js'
