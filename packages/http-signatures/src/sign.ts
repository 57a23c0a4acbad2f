// What clients sign with. Apart from what services verify with, so that these need not load `http-message-signatures`.

export { exportEd25519Jwk } from './ed25519-jwk.js'
export { signRequest, type SigningOptions } from './sign-request.js'
