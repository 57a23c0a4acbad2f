import { timingSafeEqual } from 'node:crypto'
import { hashSecret } from '@open-payments-server/value-types/identifiers'

/** Maximum length of a secret that a client may present, in characters: several times the length of any that is issued. */
const SECRET_LENGTH_MAX = 512

/** The authorization scheme everywhere (RFC 9635 §7.2), matched case-insensitively; then one token68 (RFC 9110 §11.2). */
const GNAP_AUTHORIZATION = /^GNAP +([A-Za-z0-9\-._~+/]+=*)$/i

/** Reads the token of an `Authorization: GNAP <token>` header; undefined when there is none. */
export function parseGnapToken(authorization: string | undefined): string | undefined {
  const token = GNAP_AUTHORIZATION.exec(authorization ?? '')?.[1]
  return token === undefined || token.length > SECRET_LENGTH_MAX ? undefined : token
}

/** Whether a secret has the stored SHA-256. Constant time. */
export function matchesHash(secret: string, hash: Uint8Array): boolean {
  const actual = hashSecret(secret)
  return actual.length === hash.length && timingSafeEqual(actual, hash)
}

/** Whether two secrets are equal. Constant time, whatever their lengths. */
export function isSameSecret(left: string, right: string): boolean {
  return matchesHash(left, hashSecret(right))
}
