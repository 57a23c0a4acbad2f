import { verifyContentDigest } from './content-digest.js'
import { hasBody, type HttpRequestParts, joinedHeader } from './http-request.js'
import { signatureBase, type SignatureHeaders } from './signature-base.js'
import { SignatureError } from './signature-error.js'
import { readSignatureHeaders } from './signature-headers.js'

/** The longest `keyid` and the longest `nonce`, in characters. */
const SIGNATURE_PARAMETER_LENGTH_MAX = 256

/** The only signature algorithm of this profile (RFC 9421 §3.3.6). */
export const SIGNATURE_ALGORITHM = 'ed25519'

/** The tag of signatures that bind a GNAP request to its key (RFC 9635 §7.3.1). */
const GNAP_TAG = 'gnap'

/** What a service demands of signatures beyond what this profile always does. */
export interface VerificationPolicy {
  /** How old `created` may be. */
  readonly ageMaxSeconds: number
  /** How far `created` may lie ahead of this machine's clock. */
  readonly futureMaxSeconds: number
  /** Whether `tag="gnap"` must be present; when not, an absent tag is accepted too. */
  readonly tagRequired: boolean
  /** Whether `authorization` must be covered even when the request has no such header, which then refuses it. */
  readonly authorizationRequired: boolean
  /** Whether signatures are read, too, that are written as released clients for Rust and PHP write them, outside RFC 9421. */
  readonly releasedClientForms: boolean
}

/** Not older than 300 s, not more than 30 s ahead; existing clients send no `tag`. */
export const DEFAULT_POLICY: VerificationPolicy = Object.freeze({
  ageMaxSeconds: 300,
  futureMaxSeconds: 30,
  tagRequired: false,
  authorizationRequired: false,
  releasedClientForms: true
})

/** A request's signature that passed every check that needs no key. It is *not* verified yet. */
export interface ReceivedSignature {
  readonly label: string
  readonly keyId: string
  /** `created`, in seconds since 1970. */
  readonly createdSeconds: number
  /** `expires`, in seconds since 1970. */
  readonly expiresSeconds: number | undefined
  readonly nonce: string | undefined
  readonly tag: string | undefined
  /** The 64 bytes of the Ed25519 signature. */
  readonly signature: Uint8Array
  /** The text that was signed (RFC 9421 §2.5). */
  readonly base: string
}

/**
 * Reads the signature of a request and checks everything that can be checked without the key: that there is exactly
 * one, that it covers what section 5 of the interface demands, that the body matches its digest, that it is fresh, and
 * that its parameters fit the profile (RFC 9421, RFC 9530; Ed25519 only).
 *
 * Must be covered: `@method` and `@target-uri`; `authorization` when the request has that header or the policy demands
 * it; `content-digest` when there is a body.
 *
 * @param nowMs the time to judge freshness by, in milliseconds since 1970
 * @throws SignatureError with every reason but `mismatch`
 */
export function receiveSignature(
  request: HttpRequestParts,
  policy: VerificationPolicy,
  nowMs: number
): ReceivedSignature {
  const headers = readSignatureHeaders(request, policy.releasedClientForms)
  const { label, components, parameters, signature } = headers
  checkCoverage(request, components, policy)
  checkAlgorithm(parameters)
  const tag = readTag(parameters, policy)
  const keyId = readKeyId(parameters)
  const nonce = readString(parameters, 'nonce')
  const createdSeconds = readSeconds(parameters.get('created'), 'created')
  if (createdSeconds === undefined) {
    throw new SignatureError('malformed', 'the signature has no created parameter')
  }
  const expiresSeconds = readSeconds(parameters.get('expires'), 'expires')
  checkFreshness(createdSeconds, expiresSeconds, policy, nowMs)
  checkDigest(request, components)
  const base = signatureBase(request, headers)
  return { label, keyId, createdSeconds, expiresSeconds, nonce, tag, signature, base }
}

function checkCoverage(
  request: HttpRequestParts,
  components: readonly string[],
  policy: VerificationPolicy
): void {
  const required = ['@method', '@target-uri']
  if (policy.authorizationRequired || joinedHeader(request, 'authorization') !== undefined) {
    required.push('authorization')
  }
  if (hasBody(request)) {
    required.push('content-digest')
  }
  const absent = required.filter((name) => !components.includes(name))
  if (absent.length > 0) {
    throw new SignatureError('coverage', `the signature does not cover ${absent.join(', ')}`)
  }
}

function checkDigest(request: HttpRequestParts, components: readonly string[]): void {
  if (!components.includes('content-digest')) {
    return
  }
  const header = joinedHeader(request, 'content-digest')
  if (header === undefined) {
    throw new SignatureError('digest', 'the request has no content-digest header')
  }
  verifyContentDigest(header, request.body ?? new Uint8Array())
}

function checkAlgorithm(parameters: SignatureHeaders['parameters']): void {
  const algorithm: unknown = parameters.get('alg')
  if (algorithm !== undefined && algorithm !== SIGNATURE_ALGORITHM) {
    throw new SignatureError('algorithm', `alg must be "${SIGNATURE_ALGORITHM}"`)
  }
}

function readTag(parameters: SignatureHeaders['parameters'], policy: VerificationPolicy): string | undefined {
  const tag: unknown = parameters.get('tag')
  if (tag === undefined && !policy.tagRequired) {
    return undefined
  }
  if (tag !== GNAP_TAG) {
    throw new SignatureError('tag', `tag must be "${GNAP_TAG}"`)
  }
  return tag
}

function readKeyId(parameters: SignatureHeaders['parameters']): string {
  const keyId = readString(parameters, 'keyid')
  if (keyId === undefined) {
    throw new SignatureError('key', 'the signature has no keyid parameter')
  }
  return keyId
}

function checkFreshness(
  createdSeconds: number,
  expiresSeconds: number | undefined,
  policy: VerificationPolicy,
  nowMs: number
): void {
  if (createdSeconds * 1000 > nowMs + policy.futureMaxSeconds * 1000) {
    throw new SignatureError('future', `created is more than ${policy.futureMaxSeconds} seconds ahead`)
  }
  if (createdSeconds * 1000 < nowMs - policy.ageMaxSeconds * 1000) {
    throw new SignatureError('stale', `created is more than ${policy.ageMaxSeconds} seconds ago`)
  }
  if (expiresSeconds !== undefined && expiresSeconds * 1000 <= nowMs) {
    throw new SignatureError('expired', 'the signature has expired')
  }
}

function readString(parameters: SignatureHeaders['parameters'], name: string): string | undefined {
  const value: unknown = parameters.get(name)
  if (value === undefined) {
    return undefined
  }
  if (typeof value !== 'string' || value === '' || value.length > SIGNATURE_PARAMETER_LENGTH_MAX) {
    throw new SignatureError(
      'malformed',
      `${name} must be a string of 1 to ${SIGNATURE_PARAMETER_LENGTH_MAX} characters`
    )
  }
  return value
}

function readSeconds(value: unknown, name: string): number | undefined {
  if (value === undefined) {
    return undefined
  }
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw new SignatureError('malformed', `${name} must be an integer`)
  }
  return value
}
