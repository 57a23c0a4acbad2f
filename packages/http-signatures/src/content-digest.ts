import { createHash, hash } from 'node:crypto'
import { type Dictionary, parseDictionary } from 'structured-headers'
import { SignatureError } from './signature-error.js'

/** The longest `content-digest` header, in characters. */
const CONTENT_DIGEST_LENGTH_MAX = 1_024

/** The digest algorithms of RFC 9530 that are not deprecated, and their names in node:crypto. */
const HASH_NAMES = { 'sha-256': 'sha256', 'sha-512': 'sha512' } as const

/** A digest algorithm this project computes and checks. */
export type DigestAlgorithm = keyof typeof HASH_NAMES

/**
 * The `content-digest` header (RFC 9530 §2) of a body.
 *
 * @param algorithm `sha-512`, as the Open Payments clients use, by default
 */
export function contentDigest(body: Uint8Array, algorithm: DigestAlgorithm = 'sha-512'): string {
  return `${algorithm}=:${hash(HASH_NAMES[algorithm], body, 'base64')}:`
}

/**
 * Checks a body against a `content-digest` header (RFC 9530 §2). Every digest in it of a known algorithm (`sha-256`,
 * `sha-512`) must match, and there must be at least one; digests of other algorithms are ignored.
 *
 * @throws SignatureError `digest`
 */
export function verifyContentDigest(header: string, body: Uint8Array): void {
  if (isDigestOf(header, body)) return
  const digests = parseDigests(header)
  let knownCount = 0
  for (const [algorithm, hashName] of Object.entries(HASH_NAMES)) {
    const member = digests.get(algorithm)
    if (member === undefined) {
      continue
    }
    const [digest] = member
    if (
      !(digest instanceof ArrayBuffer) ||
      !createHash(hashName).update(body).digest().equals(Buffer.from(digest))
    ) {
      throw new SignatureError('digest', `content-digest ${algorithm} does not match the body`)
    }
    knownCount += 1
  }
  if (knownCount === 0) {
    throw new SignatureError('digest', 'content-digest has neither a sha-256 nor a sha-512 digest')
  }
}

/** Whether a header is exactly what we would write, which needs no parsing. Others may match the body, too. */
function isDigestOf(header: string, body: Uint8Array): boolean {
  if (header.startsWith('sha-512=')) return header === contentDigest(body, 'sha-512')
  return header.startsWith('sha-256=') && header === contentDigest(body, 'sha-256')
}

function parseDigests(header: string): Dictionary {
  if (header.length > CONTENT_DIGEST_LENGTH_MAX) {
    throw new SignatureError(
      'digest',
      `content-digest is longer than ${CONTENT_DIGEST_LENGTH_MAX} characters`
    )
  }
  try {
    return parseDictionary(header)
  } catch (cause) {
    throw new SignatureError('digest', 'content-digest is not a dictionary of digests', { cause })
  }
}
