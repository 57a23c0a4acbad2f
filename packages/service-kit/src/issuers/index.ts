/** The keys of OpenID Connect issuers, and what is wrong with a token. */
export { type IssuerKeys, IssuerUnavailable } from './issuer-keys.js'
export { openIssuerKeys } from './open-issuer-keys.js'
export { findTokenProblem, SIGNATURE_ALGORITHMS } from './token-problem.js'
