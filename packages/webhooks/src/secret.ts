import { hkdfSync, randomBytes } from 'node:crypto'
import { CompactEncrypt, compactDecrypt, errors } from 'jose'

const PREFIX = 'whsec_'
const RANDOM_BYTES = 32
/** Bounds of a secret, in bytes (Standard Webhooks, "Signature scheme"). */
const BYTES_MIN = 24
const BYTES_MAX = 64

/** Draws a secret at random. */
export function drawSecret(): string {
  return `${PREFIX}${randomBytes(RANDOM_BYTES).toString('base64')}`
}

/** Whether a text is a secret that Standard Webhooks allows: `whsec_` and 24 to 64 bytes in base64. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false
  const encoded = text.slice(PREFIX.length)
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.toString('base64') === encoded && bytes.length >= BYTES_MIN && bytes.length <= BYTES_MAX
}

/** Encrypts secrets for the database. */
export interface SecretBox {
  /** Encrypts the secret of an endpoint. */
  seal(endpointId: string, secret: string): Promise<string>
  /**
   * Decrypts it.
   *
   * @throws Error when none of the keys does, or it belongs to another endpoint
   */
  open(endpointId: string, sealed: string): Promise<string>
}

/**
 * Encrypts secrets as JWE (RFC 7516) with A256GCM, bound to their endpoint.
 *
 * @param masterKeys the first encrypts; all of them decrypt
 */
export function createSecretBox(masterKeys: readonly [string, ...string[]]): SecretBox {
  const derive = (master: string): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', master, '', 'webhook secrets', 32))
  const [first, ...others] = masterKeys
  const encryptionKey = derive(first)
  const keys = [encryptionKey, ...others.map(derive)]
  return {
    seal: (endpointId, secret) =>
      new CompactEncrypt(Buffer.from(secret, 'utf8'))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', sub: endpointId })
        .encrypt(encryptionKey),
    async open(endpointId, sealed) {
      for (const key of keys) {
        try {
          const { plaintext, protectedHeader } = await compactDecrypt(sealed, key)
          if (protectedHeader.sub !== endpointId)
            throw new Error('the secret is that of another webhook endpoint')
          return Buffer.from(plaintext).toString('utf8')
        } catch (error) {
          if (!(error instanceof errors.JWEDecryptionFailed)) throw error
        }
      }
      throw new Error(
        'no key of WEBHOOK_SECRET_KEY or WEBHOOK_SECRET_KEYS_OTHER decrypts the secret of a webhook endpoint'
      )
    }
  }
}
