import { errors } from 'jose'

/**
 * Algorithms of signatures that count (RFC 7518 §3.1, RFC 8037): those with a public key. With `none` or a shared secret, anyone who
 * knows what is published could sign.
 */
export const SIGNATURE_ALGORITHMS = [
  'EdDSA',
  'Ed25519',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512'
] as const

/**
 * What is wrong with a token, for whoever sent it.
 *
 * @param error of verifying it
 * @returns undefined for an error that is not about the token
 */
export function findTokenProblem(error: unknown): string | undefined {
  if (error instanceof errors.JWTExpired) return `${error.claim} shows that it is too old`
  if (error instanceof errors.JWTClaimValidationFailed) return `${error.claim} is missing or wrong`
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not verify'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not allowed'
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is none of those that are published'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it must name its key'
  if (error instanceof errors.JOSEError) return 'must be a signed JWT in compact form'
  return undefined
}
