/** Wallet addresses, the public addresses of accounts, and their holders' signing keys. */
export {
  createWalletAddress,
  findListedWalletAddress,
  findWalletAddressId,
  listWalletAddresses,
  type StoredWalletAddress
} from './administration.js'
export { accountOf, createWalletAddressDirectory, pathOf, WALLET_ADDRESS } from './directory.js'
export {
  freezeWalletAddress,
  IS_FROZEN,
  isFrozen,
  isFrozenAddress,
  isFrozenMeanwhile,
  readToldWalletAddresses,
  type ToldWalletAddress,
  unfrozenPayers
} from './freeze.js'
export {
  findHolding,
  type HeldWalletAddress,
  listHeldWalletAddresses,
  nameWalletAddresses,
  walletAddressAt,
  walletAddressesOf
} from './holding.js'
export {
  addKey,
  countKeys,
  createPublishedKeyDirectory,
  hasKey,
  KEYS_REMEMBERED_MS,
  readToldKeys,
  revokeKey,
  type ToldKey
} from './keys.js'
