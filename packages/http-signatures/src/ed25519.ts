import { getFips, type KeyObject, verify } from 'node:crypto'
import { createRequire } from 'node:module'

/**
 * Whether a signature of a message is by a key (RFC 8032 §5.1.7).
 *
 * @param signature one with a length other than 64 bytes is by no key
 * @param publicKey an Ed25519 public key. Keep it: importing one costs more than verifying
 */
export type Ed25519Verification = (
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: KeyObject
) => boolean

/** A library that verifies signatures. */
export interface Ed25519Library {
  readonly name: 'libsodium' | 'OpenSSL'
  /** Why the faster one is not used. */
  readonly reason?: string
  readonly verify: Ed25519Verification
}

/** The functions that are used. All of its arrays may be parts of larger ones. */
interface Libsodium {
  /** @throws Error for a signature of less than 64 bytes, or a key of another length than 32 */
  readonly crypto_sign_verify_detached: (
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array
  ) => boolean
}

const SIGNATURE_BYTES = 64

/** The 32 bytes of used keys, for as long as the key is referenced. */
const rawKeys = new WeakMap<KeyObject, Buffer>()

/** The one included in Node. */
export function openSsl(reason?: string): Ed25519Library {
  return {
    name: 'OpenSSL',
    ...(reason === undefined ? {} : { reason }),
    verify: (message, signature, publicKey) => verify(null, message, publicKey, signature)
  }
}

/**
 * Takes at most half the time of OpenSSL.
 *
 * @throws Error where there is no build for this system, such as those with musl as their C library
 */
export function libsodium(): Ed25519Library {
  const sodium = createRequire(import.meta.url)('sodium-native') as Libsodium
  return {
    name: 'libsodium',
    verify: (message, signature, publicKey) =>
      signature.byteLength === SIGNATURE_BYTES &&
      sodium.crypto_sign_verify_detached(signature, message, rawKeyOf(publicKey))
  }
}

/**
 * The library for this process: libsodium, unless it is not available, or Node may use only OpenSSL's FIPS provider.
 *
 * @param isFips whether Node runs in FIPS mode
 */
export function chooseLibrary(isFips: boolean, load: () => Ed25519Library = libsodium): Ed25519Library {
  if (isFips) return openSsl('FIPS mode is on')
  try {
    return load()
  } catch (error) {
    return openSsl(error instanceof Error ? error.message : String(error))
  }
}

/** The library that verifies signatures in this process. Both accept and refuse the same ones. */
export const ED25519_LIBRARY: Ed25519Library = chooseLibrary(getFips() === 1)

/** The library that verifies signatures here, for operators. */
export function describeEd25519Library({ name, reason }: Ed25519Library = ED25519_LIBRARY): string {
  return reason === undefined ? name : `${name}: ${reason}`
}

function rawKeyOf(publicKey: KeyObject): Buffer {
  const known = rawKeys.get(publicKey)
  if (known !== undefined) return known
  // A member of every public key of this kind.
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  rawKeys.set(publicKey, raw)
  return raw
}
