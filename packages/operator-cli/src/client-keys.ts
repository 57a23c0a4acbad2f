import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject
} from 'node:crypto'
import { access, readFile, writeFile } from 'node:fs/promises'
import { CommandError } from './command-error.js'

/** Bytes of an Ed25519 public key (RFC 8032 §5.1.5). */
const PUBLIC_KEY_BYTES = 32
/** Longest key file that is read. */
const KEY_FILE_BYTES_MAX = 16_384
const PRIVATE_KEY_MODE = 0o600

/**
 * Reads an Ed25519 public key: 43 characters of base64url (the `x` of its JWK), or a file that holds the key as PEM or as
 * a JWK. A file with the private key serves too; only its public half is used.
 *
 * @returns the key's `x`, base64url
 * @throws CommandError when it is none of these
 */
export async function readPublicKey(given: string): Promise<string> {
  if (/^[A-Za-z0-9_-]{43}$/.test(given))
    return encodedKey(publicKeyOf(given, { kty: 'OKP', crv: 'Ed25519', x: given }), given)
  const text = await readKeyFile(given)
  const key = text.trimStart().startsWith('{')
    ? publicKeyOf(given, parseJwk(given, text))
    : publicKeyOf(given, text)
  return encodedKey(key, given)
}

/**
 * Generates an Ed25519 key pair and writes the private key as PKCS#8 PEM, readable by its owner alone.
 *
 * @returns the public key's `x`, base64url
 * @throws CommandError when the file exists or cannot be written
 */
export async function generatePrivateKey(file: string): Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  try {
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), {
      mode: PRIVATE_KEY_MODE,
      flag: 'wx'
    })
  } catch (error) {
    throw new CommandError(`the new private key cannot be written to ${file}: ${reasonOf(error)}`, 'generate')
  }
  return encodedKey(publicKey, file)
}

/**
 * The public key of the private key in a file, which is generated when there is none.
 *
 * @returns the public key's `x`, base64url
 */
export async function ensurePrivateKey(file: string): Promise<string> {
  const exists = await access(file).then(
    () => true,
    () => false
  )
  return exists ? readPublicKey(file) : generatePrivateKey(file)
}

async function readKeyFile(file: string): Promise<string> {
  try {
    const bytes = await readFile(file)
    if (bytes.length <= KEY_FILE_BYTES_MAX) return bytes.toString('utf8')
  } catch (error) {
    throw new CommandError(
      `${file} is neither a base64url key of 43 characters nor a file that can be read: ${reasonOf(error)}`,
      'public-key'
    )
  }
  throw new CommandError(`${file} is too large for a key`, 'public-key')
}

function parseJwk(file: string, text: string): JsonWebKey {
  try {
    return JSON.parse(text) as JsonWebKey
  } catch {
    throw new CommandError(`${file} holds neither PEM nor a JWK`, 'public-key')
  }
}

function publicKeyOf(source: string, given: string | JsonWebKey): KeyObject {
  try {
    if (typeof given !== 'string') return createPublicKey({ key: given, format: 'jwk' })
    return createPublicKey(given.includes('PRIVATE KEY') ? createPrivateKey(given) : given)
  } catch {
    throw new CommandError(`${source} holds no key that can be read`, 'public-key')
  }
}

function encodedKey(key: KeyObject, source: string): string {
  const { x } = key.asymmetricKeyType === 'ed25519' ? key.export({ format: 'jwk' }) : { x: undefined }
  if (x === undefined || Buffer.from(x, 'base64url').length !== PUBLIC_KEY_BYTES) {
    throw new CommandError(`the key in ${source} is not an Ed25519 key`, 'public-key')
  }
  return x
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
