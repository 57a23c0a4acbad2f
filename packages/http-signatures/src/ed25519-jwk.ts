import { createPublicKey, KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, importJWK } from 'jose'
import { SignatureError } from './signature-error.js'

/** The longest key identifier, in characters. */
export const KEY_ID_LENGTH_MAX = 256

/** The public key of a client as it publishes it (RFC 7517, RFC 8037; interface 2.9). `x` is 32 bytes in base64url. */
export interface Ed25519Jwk {
  kid: string
  kty: 'OKP'
  crv: 'Ed25519'
  alg: 'EdDSA'
  x: string
  use?: 'sig'
}

const PUBLIC_KEY_BYTES = 32

/**
 * The points of small order and their other encodings, without the sign bit, in hexadecimal (the same list as in
 * libsodium). Under such a "key" one signature fits many messages.
 */
const SMALL_ORDER_POINTS = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`
])

/**
 * Reads an Ed25519 public key from a JSON value of unknown origin. Members that this project does not use are dropped.
 *
 * @throws SignatureError `key`, naming the member that is wrong
 */
export function parseEd25519Jwk(value: unknown): Ed25519Jwk {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SignatureError('key', 'jwk must be an object')
  }
  const jwk = value as Readonly<Record<string, unknown>>
  if (Object.hasOwn(jwk, 'd')) {
    throw new SignatureError('key', 'd must not be present: it is the private key')
  }
  const { kid, x, use } = jwk
  if (typeof kid !== 'string' || kid === '' || kid.length > KEY_ID_LENGTH_MAX) {
    throw new SignatureError('key', `kid must be a string of 1 to ${KEY_ID_LENGTH_MAX} characters`)
  }
  assertMember(jwk, 'kty', 'OKP')
  assertMember(jwk, 'crv', 'Ed25519')
  assertMember(jwk, 'alg', 'EdDSA')
  if (use !== undefined) {
    assertMember(jwk, 'use', 'sig')
  }
  assertVerifies(jwk.key_ops)
  assertPublicKey(x)
  return {
    kid,
    kty: 'OKP',
    crv: 'Ed25519',
    alg: 'EdDSA',
    x,
    ...(use === undefined ? {} : { use: 'sig' as const })
  }
}

/**
 * Imports an Ed25519 public key for verifying signatures. Keep the result: importing a key costs about as much as verifying
 * with it.
 *
 * @throws SignatureError `key` when `x` is not an Ed25519 public key
 */
export async function importEd25519Jwk({ x }: Pick<Ed25519Jwk, 'x'>): Promise<KeyObject> {
  // jose accepts padding, white space and points of small order.
  assertPublicKey(x)
  try {
    // Node verifies with a key object as fast as with a CryptoKey, and gives the bytes of one to libsodium without a promise.
    return KeyObject.from(await importJWK({ kty: 'OKP', crv: 'Ed25519', x }, 'EdDSA'))
  } catch (cause) {
    throw new SignatureError('key', 'x is not an Ed25519 public key', { cause })
  }
}

/** The SHA-256 thumbprint of an Ed25519 key in base64url (RFC 7638 §3, RFC 8037 §2): what makes two keys the same. */
export function jwkThumbprint({ x }: Pick<Ed25519Jwk, 'x'>): Promise<string> {
  return calculateJwkThumbprint({ crv: 'Ed25519', kty: 'OKP', x })
}

/**
 * The public JWK of an Ed25519 key, given its public or its private key object.
 *
 * @throws SignatureError `key` for a key of another kind
 */
export function exportEd25519Jwk(key: KeyObject, kid: string): Ed25519Jwk {
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new SignatureError('key', 'the key is not an Ed25519 key')
  }
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  return parseEd25519Jwk({ kid, kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x, use: 'sig' })
}

function assertMember(jwk: Readonly<Record<string, unknown>>, name: string, expected: string): void {
  if (jwk[name] !== expected) {
    throw new SignatureError('key', `${name} must be "${expected}"`)
  }
}

/** A key that names its operations is used for no other (RFC 7517 §4.3). */
function assertVerifies(operations: unknown): void {
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    throw new SignatureError('key', 'key_ops must include "verify"')
  }
}

function assertPublicKey(x: unknown): asserts x is string {
  const bytes = typeof x === 'string' ? Buffer.from(x, 'base64url') : Buffer.alloc(0)
  // Decoding is lenient; encoding again shows whether the text was the canonical one.
  if (bytes.length !== PUBLIC_KEY_BYTES || bytes.toString('base64url') !== x) {
    throw new SignatureError('key', `x must be ${PUBLIC_KEY_BYTES} bytes in base64url without padding`)
  }
  bytes.writeUInt8(bytes.readUInt8(PUBLIC_KEY_BYTES - 1) & 0x7f, PUBLIC_KEY_BYTES - 1)
  if (SMALL_ORDER_POINTS.has(bytes.toString('hex'))) {
    throw new SignatureError('key', 'x is a point of small order, which is no key')
  }
}
