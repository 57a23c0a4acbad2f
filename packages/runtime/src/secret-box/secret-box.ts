import { hkdfSync } from 'node:crypto'
import { CompactEncrypt, compactDecrypt, errors } from 'jose'

/** Encrypts secrets for the database. */
export interface SecretBox {
  /**
   * Encrypts the secret of an owner.
   *
   * @param ownerId id of what it belongs to
   */
  seal(ownerId: string, secret: string): Promise<string>
  /**
   * Decrypts it.
   *
   * @throws Error when none of the keys does, or it belongs to another owner
   */
  open(ownerId: string, sealed: string): Promise<string>
}

/** What secrets are for. */
export interface SecretUse {
  /** Separates their keys from those of other uses of a master key. It never changes. */
  readonly purpose: string
  /** What they belong to, for errors: `webhook endpoint`. */
  readonly owner: string
  /** The setting that holds the master key: others are in the setting of this name in the plural, with `_OTHER`. */
  readonly setting: string
}

/**
 * Encrypts secrets as JWE (RFC 7516) with A256GCM, each bound to its owner.
 *
 * @param masterKeys the first encrypts; all of them decrypt
 */
export function createSecretBox(
  { purpose, owner, setting }: SecretUse,
  masterKeys: readonly [string, ...string[]]
): SecretBox {
  const derive = (master: string): Uint8Array => new Uint8Array(hkdfSync('sha256', master, '', purpose, 32))
  const [first, ...others] = masterKeys
  const encryptionKey = derive(first)
  const keys = [encryptionKey, ...others.map(derive)]
  return {
    seal: (ownerId, secret) =>
      new CompactEncrypt(Buffer.from(secret, 'utf8'))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', sub: ownerId })
        .encrypt(encryptionKey),
    async open(ownerId, sealed) {
      for (const key of keys) {
        try {
          const { plaintext, protectedHeader } = await compactDecrypt(sealed, key)
          if (protectedHeader.sub !== ownerId) throw new Error(`the secret is that of another ${owner}`)
          return Buffer.from(plaintext).toString('utf8')
        } catch (error) {
          if (!(error instanceof errors.JWEDecryptionFailed)) throw error
        }
      }
      throw new Error(`no key of ${setting} or ${setting}S_OTHER decrypts the secret of a ${owner}`)
    }
  }
}
