import { createPrivateKey, type KeyObject } from 'node:crypto'
import { jwkThumbprint, KEY_ID_LENGTH_MAX } from '@open-payments-server/http-signatures'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'

/** A key that this provider signs with. */
export interface SigningKey {
  /** The `kid` under which the public key is published: 1 to 256 characters. */
  readonly keyId: string
  /** An Ed25519 private key. */
  readonly privateKey: KeyObject
}

/**
 * Reads Ed25519 private keys: a JWK Set (RFC 7517 §5) of them (RFC 8037 §2). The id of one is its `kid`, otherwise its thumbprint (RFC 7638),
 * which is the same for the same key everywhere.
 *
 * @throws Error that says what is wrong, and contains nothing of the text
 */
export async function readSigningKeys(text: string): Promise<readonly [SigningKey, ...SigningKey[]]> {
  const [first, ...others] = parseSet(text)
  if (first === undefined) throw new Error('must contain a key')
  return [await readSigningKey(first), ...(await Promise.all(others.map(readSigningKey)))]
}

/** Members of a JSON object. */
type Members = Readonly<Record<string, unknown>>

function parseSet(text: string): readonly Members[] {
  try {
    const { keys } = JSON.parse(text) as { readonly keys: unknown }
    if (Array.isArray(keys) && keys.every(isObject)) return keys
  } catch {
    // The error of the parser quotes the text.
  }
  throw new Error('must be a JWK Set: {"keys": [ … ]}')
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null
}

async function readSigningKey(jwk: Members): Promise<SigningKey> {
  const privateKey = importPrivateKey(jwk)
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('each key must be an Ed25519 key')
  const { x } = exportEd25519Jwk(privateKey, 'unnamed')
  if (jwk.x !== x) throw new Error('the x of a key must be the public key of its d')
  return { keyId: readKeyId(jwk) ?? (await jwkThumbprint({ x })), privateKey }
}

function importPrivateKey(jwk: Members): KeyObject {
  try {
    return createPrivateKey({ key: jwk, format: 'jwk' })
  } catch {
    throw new Error('each key must be a private JWK')
  }
}

function readKeyId({ kid: keyId }: Members): string | undefined {
  if (keyId === undefined) return undefined
  if (typeof keyId !== 'string' || keyId === '' || keyId.length > KEY_ID_LENGTH_MAX) {
    throw new Error(`the kid of a key must be a text of 1 to ${KEY_ID_LENGTH_MAX} characters`)
  }
  return keyId
}
