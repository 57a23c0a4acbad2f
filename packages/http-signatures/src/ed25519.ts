import { getFips, type KeyObject, verify } from 'node:crypto'
import { createRequire } from 'node:module'

/**
 * Tells whether a signature of a message is by a key (RFC 8032 §5.1.7).
 *
 * @param signature of another length than 64 bytes is by no key
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
  /** Why it is not the faster one. */
  readonly reason?: string
  readonly verify: Ed25519Verification
}

/** What is used of it. All of its arrays may be parts of larger ones. */
interface Libsodium {
  /** @throws Error for a signature of less than 64 bytes, or a key of another length than 32 */
  readonly crypto_sign_verify_detached: (
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array
  ) => boolean
}

const SIGNATURE_BYTES = 64

/** The 32 bytes of keys that were used, for as long as somebody keeps the key. */
const rawKeys = new WeakMap<KeyObject, Buffer>()

/** The one that Node brings along. */
export function openSsl(reason?: string): Ed25519Library {
  return {
    name: 'OpenSSL',
    ...(reason === undefined ? {} : { reason }),
    verify: (message, signature, publicKey) => verify(null, message, publicKey, signature)
  }
}

/**
 * Takes half of the time of OpenSSL, or less.
 *
 * @throws Error where there is none for this system, such as those with musl as their C library
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
 * The library for this process: libsodium, unless it is not to be had, or Node was told to use nothing but what OpenSSL's
 * FIPS provider has.
 *
 * @param isFips whether it was told so
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

/** What verifies signatures here, for whoever operates it. */
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
