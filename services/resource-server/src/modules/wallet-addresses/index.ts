/** Wallet addresses, the public addresses of accounts, and their holders' signing keys. */
export { createWalletAddress, findWalletAddressId, listWalletAddresses } from './administration.js'
export { accountOf, createWalletAddressDirectory, WALLET_ADDRESS } from './directory.js'
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
