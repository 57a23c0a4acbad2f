/**
 * Grants, what they allow (RFC 9635 §1.5, §2, §8), and what their account holders did with them: the tables `grant_request`,
 * `access_item`, `grant_expiry` and `grant_act`. Changes that
 * must happen together with other tables are provided as parts of a statement, which a use case composes.
 */
export {
  accessOf,
  findAccess,
  restoreAccessItem,
  restoreGrantedItem,
  storeAccessItem,
  type StoredAccessItem
} from './access-items.js'
export {
  actedGrants,
  findActs,
  grantActEvents,
  grantActValues,
  type GrantChange,
  heldGrants,
  insertedGrantActs,
  loweredItems,
  type StoredAct,
  type StoredTerms,
  type Terms
} from './acts.js'
export { ALLOWED_COLUMNS, type AllowedRow, isAllowedState } from './allowed.js'
export { insertedGrants, type NewGrant, newGrantValues } from './begin.js'
export {
  approvedGrants,
  endedGrants,
  grantedAccessValue,
  type GrantEnd,
  grantEndValues,
  issuedGrants,
  narrowedAccess,
  restartWait
} from './change.js'
export {
  approvedGrantEvents,
  endedGrantEvents,
  GRANT_CHANGE,
  insertedGrantEvents,
  issuedGrantEvents,
  readToldGrants
} from './events.js'
export { expectedExpiries, expiringGrantEvents, forgottenExpiries } from './expiry.js'
export { HOLDER_COLUMNS, restoreHolder, type StoredHolder } from './holder.js'
export { dueGrants, grantEnd, IS_DUE_ISSUED, purgedGrants } from './purge.js'
export {
  clientOf,
  CONTINUABLE_COLUMNS,
  type ContinuableRow,
  findGrant,
  GRANT_ENDS_AT,
  GRANT_ID,
  GRANT_UPDATED_AT,
  GRANT_WITH_ACCESS,
  grantByKey,
  GRANTS,
  hasGrant,
  IS_HOLDER_FROZEN,
  isBeforeEnd,
  IS_ISSUED,
  IS_PAUSED,
  ITEM_LIMITS,
  listGrants,
  type OperatedGrant,
  placeOfItem,
  restoreContinuable,
  restoreGrantOfInteraction
} from './read.js'
