import { createHash, hkdfSync } from 'node:crypto'
import type { Clock } from '@open-payments-server/value-types/clock'
import { EncryptJWT, errors, jwtDecrypt } from 'jose'

/** Length of a key for A256GCM, in bytes. */
const KEY_BYTES = 32
const KEY_ID_LENGTH = 8

/** Encrypts what a browser keeps for us, so that it can neither read nor change it. */
export interface Sealer {
  /**
   * @param purpose what it is for: opened for another purpose, it is nothing
   * @param lifetimeSeconds how long it can be opened
   */
  seal(purpose: string, content: Readonly<Record<string, unknown>>, lifetimeSeconds: number): Promise<string>
  /** @returns undefined for what was not sealed here for the purpose, or is over */
  open(purpose: string, sealed: string): Promise<Readonly<Record<string, unknown>> | undefined>
}

/**
 * A sealer: JWE (RFC 7516), `dir` with A256GCM, with keys derived from secrets by HKDF.
 *
 * @param secrets the first one encrypts, all decrypt
 */
export function createSealer(secrets: readonly [string, ...string[]], clock: Clock): Sealer {
  const keys = new Map(secrets.map((secret) => deriveKey(secret)))
  const [[kid, newest] = deriveKey(secrets[0])] = keys
  const now = (): Date => new Date(clock.now())
  return {
    seal(purpose, content, lifetimeSeconds) {
      const issuedSeconds = Math.floor(clock.now() / 1_000)
      return new EncryptJWT({ content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
        .setAudience(purpose)
        .setExpirationTime(issuedSeconds + lifetimeSeconds)
        .encrypt(newest)
    },
    async open(purpose, sealed) {
      try {
        const { payload } = await jwtDecrypt(sealed, ({ kid: id }) => keys.get(id ?? '') ?? newest, {
          audience: purpose,
          currentDate: now(),
          requiredClaims: ['exp'],
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM']
        })
        const { content } = payload
        return typeof content === 'object' && content !== null ? { ...content } : undefined
      } catch (error) {
        // Whatever it is, it was not sealed here: browsers send what they like.
        if (error instanceof errors.JOSEError) return undefined
        throw error
      }
    }
  }
}

function deriveKey(secret: string): readonly [kid: string, key: Uint8Array] {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'open-payments-server web cookies', KEY_BYTES))
  return [createHash('sha256').update(key).digest('base64url').slice(0, KEY_ID_LENGTH), key]
}
