import { generateKeyPairSync } from 'node:crypto'
import {
  type ClientKey,
  importEd25519Jwk,
  jwkThumbprint,
  type ReceivedSignature,
  SignatureError,
  type VerificationPolicy,
  verifySignature
} from '@open-payments-server/http-signatures'
import type { SharedStore } from '@open-payments-server/shared-store'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'

/** A client's key, imported. */
export interface ImportedKey extends ClientKey {
  /** Its thumbprint, computed when first asked for: a job for the thread pool, which few need. */
  readonly jwkThumbprint: () => Promise<string>
}

/** Maximum number of cached imported keys: a client uses one for all its requests. */
const IMPORTED_KEYS_MAX = 10_000

/** Used when there is no key to verify with. Nobody has its private key. */
const { publicKey: NOBODYS_KEY } = generateKeyPairSync('ed25519')

/**
 * Whether a signature was made with a key. It costs one verification, even if there is no key: whoever is refused cannot
 * tell from the time which it was.
 *
 * @param key undefined when there is none; then nobody signed with it
 */
export function isSignedWith(signature: ReceivedSignature, key: ClientKey | undefined): boolean {
  try {
    verifySignature(signature, key ?? { kid: signature.keyId, publicKey: NOBODYS_KEY })
    return key !== undefined
  } catch (error) {
    if (error instanceof SignatureError) return false
    throw error
  }
}

/**
 * Imports a client's key for verifying.
 *
 * @throws SignatureError `key` when it is not an Ed25519 public key
 */
export type ImportKey = (key: Pick<ClientKey, 'kid' | 'x'>) => Promise<ImportedKey>

/** Creates an importer that caches keys, because importing costs more than verifying. */
export function createKeyImporter(): ImportKey {
  const imported = new LRUCache<string, Omit<ImportedKey, 'kid'>>({ max: IMPORTED_KEYS_MAX })
  return async ({ kid, x }) => {
    const known = imported.get(x)
    const key = known ?? (await importOnce(x))
    if (known === undefined) imported.set(x, key)
    return { kid, ...key }
  }
}

async function importOnce(x: string): Promise<Omit<ImportedKey, 'kid'>> {
  let thumbprint: Promise<string> | undefined
  return {
    x,
    publicKey: await importEd25519Jwk({ x }),
    jwkThumbprint: () => (thumbprint ??= jwkThumbprint({ x }))
  }
}

/** What using up nonces needs. */
export interface NonceDependencies {
  readonly sharedStore: Pick<SharedStore, 'markOnce'>
  readonly policy: Pick<VerificationPolicy, 'ageMaxSeconds' | 'futureMaxSeconds'>
}

/**
 * Uses up the nonce of a verified signature, if it has one: each is used once per key.
 *
 * @param key the key that signed
 * @returns the reason to refuse the request, when the nonce was used before; undefined when it may go on
 * @throws SharedStoreUnavailable when it is unknown whether the nonce was used
 */
export async function useNonce(
  { nonce, createdSeconds }: ReceivedSignature,
  key: Pick<ClientKey, 'x'>,
  { sharedStore, policy }: NonceDependencies
): Promise<SignatureError | undefined> {
  if (nonce === undefined) return undefined
  // Hashed, so that stored marks have one length.
  const mark = `nonce:${hashSecret(`${key.x}\n${nonce}`).toString('base64url')}`
  // Lasts longer than the signature is fresh; after that, its age refuses it.
  const lifetimeSeconds = policy.ageMaxSeconds + policy.futureMaxSeconds + 1
  const isFirst = await sharedStore.markOnce(mark, lifetimeSeconds, createdSeconds)
  return isFirst ? undefined : new SignatureError('nonce', 'its nonce was used before, or may have been')
}
