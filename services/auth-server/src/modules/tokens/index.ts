/** Access tokens (RFC 9635 §3.2, §6). The table `access_token`. */
export { endedTokens, revokeToken } from './end.js'
export { insertedTokens, newTokenValues } from './issue.js'
export { lastTokenEndOf, livingTokens, purgeRotatedTokens } from './purge.js'
export { createManagedTokens, createTokenReader, type TokenReader, usableTokens } from './read.js'
export { createRevocationBus } from './revocation-bus.js'
export { TokenHolders } from './token-holders.js'
export { createRotateToken, type RotateToken } from './rotate.js'
