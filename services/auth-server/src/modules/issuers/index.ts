/** The OpenID Connect issuers that account holders sign in at, and the keys by which consent is proved. No tables. */
export { type ClaimedProof, readClaims } from './claims.js'
export { createIdTokenVerifier } from './id-tokens.js'
export { type ConsentIssuers, parseIssuers } from './issuers.js'
export { createOwnershipVerifier, parseOwnershipKeys } from './ownership.js'
