export { contentDigest, verifyContentDigest } from './content-digest.js'
export {
  type Ed25519Jwk,
  importEd25519Jwk,
  jwkThumbprint,
  KEY_ID_LENGTH_MAX,
  parseEd25519Jwk
} from './ed25519-jwk.js'
export { describeEd25519Library, ED25519_LIBRARY } from './ed25519.js'
export type { HttpRequestParts } from './http-request.js'
export {
  DEFAULT_POLICY,
  type ReceivedSignature,
  receiveSignature,
  type VerificationPolicy
} from './receive-signature.js'
export { SIGNATURE_ERROR_REASONS, SignatureError, type SignatureErrorReason } from './signature-error.js'
export { type ClientKey, verifySignature } from './verify-signature.js'
