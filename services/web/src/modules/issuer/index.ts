export { createIssuer, type Issuer, type SignInRequest, SignInFailed, type SignedIn } from './issuer.js'
export { createIssuerFetch } from './issuer-fetch.js'
