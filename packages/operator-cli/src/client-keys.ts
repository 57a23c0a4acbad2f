import { generateKeyPairSync } from 'node:crypto'
import { access, readFile, writeFile } from 'node:fs/promises'
import { exportJWK, importJWK, importPKCS8, importSPKI } from 'jose'
import { CommandError } from './command-error.js'

/** Maximum size of a key file. */
const KEY_FILE_BYTES_MAX = 16_384
const PRIVATE_KEY_MODE = 0o600
/** The key in a file with other content: tools write text around it (RFC 7468 §2). */
const PEM = /-----BEGIN (PUBLIC|PRIVATE) KEY-----[^-]+-----END \1 KEY-----/
/** jose's name for signatures with Ed25519 keys (RFC 8037 §3.1). */
const ALGORITHM = 'EdDSA'

/**
 * Reads an Ed25519 public key: 43 characters of base64url (the `x` of its JWK), or a file with the key as PEM or JWK. A
 * file with the private key works too; only its public key is used.
 *
 * @returns the key's `x`, base64url
 * @throws CommandError when it is none of these
 */
export async function readPublicKey(given: string): Promise<string> {
  const text = /^[A-Za-z0-9_-]{43}$/.test(given)
    ? JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: given })
    : await readKeyFile(given)
  try {
    return await encodedKey(await importKey(text))
  } catch {
    throw new CommandError(`${given} contains no Ed25519 key that can be read`, 'public-key')
  }
}

/**
 * Generates an Ed25519 key pair and writes the private key as PKCS#8 PEM, readable only by its owner.
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
  return encodedKey(publicKey)
}

/**
 * The public key of the private key in a file, which is generated if missing.
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

/** @throws Error when the text is neither a JWK nor PEM, or its key is not an Ed25519 key */
async function importKey(text: string): ReturnType<typeof importJWK> {
  // The public key is read from the imported key, which must be extractable for a private one.
  const options = { extractable: true }
  if (text.trimStart().startsWith('{')) {
    return importJWK(JSON.parse(text) as Parameters<typeof importJWK>[0], ALGORITHM, options)
  }
  const [pem = '', kind] = PEM.exec(text) ?? []
  return kind === 'PRIVATE' ? importPKCS8(pem, ALGORITHM, options) : importSPKI(pem, ALGORITHM, options)
}

/** @throws Error when the key has no `x` */
async function encodedKey(key: Parameters<typeof exportJWK>[0]): Promise<string> {
  const { x } = await exportJWK(key)
  if (x === undefined) throw new Error('the key is symmetric')
  return x
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
