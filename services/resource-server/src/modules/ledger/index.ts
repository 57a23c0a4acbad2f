/**
 * The double-entry ledger: assets, accounts and transfers. Holds, posts, voids and moves money; no other module writes
 * these tables.
 */
export { type Account, createAccount, findAccount, findAccountsById, listAccounts } from './accounts.js'
export { type LedgerEntry, listEntriesOf, listEntriesOfAccount } from './entries.js'
export { readToldAccounts, type ToldAccount } from './account-events.js'
export { freezeAccount, IS_ACCOUNT_FROZEN, isFrozenAccount } from './freeze.js'
export { ACCOUNT_HOLDER, findHeldAccounts, type HeldAccount, setHolder } from './holder.js'
export {
  accountById,
  ASSET_OF_ACCOUNT,
  assetById,
  assetIdOf,
  createAsset,
  ensureAsset,
  findAssetId,
  findFirstAsset,
  listAssets
} from './assets.js'
export { ChangedTotals } from './changed-totals.js'
export { held, holdOf } from './hold.js'
export { findMovement, lockAccount, move, type Movement, type MovementKind } from './move.js'
export {
  type AccountTotals,
  deliveredBy,
  hasDelivery,
  moved,
  movements,
  posted,
  type PostedTransfer
} from './post.js'
export {
  accountsIn,
  createProviderAccounts,
  type ProviderAccountDirectory,
  type ProviderAccounts
} from './provider-accounts.js'
export {
  assetOfPeer,
  bookedWithin,
  dispatchPosted,
  lockAccounts,
  lockedAccounts,
  payableOf,
  peerAccountsCreated,
  receivableOf,
  settlementPosted
} from './peer-accounts.js'
export { voided } from './void.js'
export { refundPosted, refundRoute, refundTransferIds } from './refund.js'
