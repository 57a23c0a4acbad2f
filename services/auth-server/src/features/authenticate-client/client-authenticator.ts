import { generateKeyPairSync } from 'node:crypto'
import {
  importEd25519Jwk,
  type ReceivedSignature,
  receiveSignature,
  SignatureError,
  type VerificationPolicy,
  verifySignature
} from '@open-payments-server/http-signatures'
import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import type { SharedStore } from '@open-payments-server/shared-store'
import { LRUCache } from 'lru-cache'
import type { ClientAuthenticator, CountVerified } from '../../domain/authentication.js'
import {
  type BoundClient,
  type ClientDirectory,
  type ClientKey,
  DocumentUnavailable,
  findHolderKey,
  keysUrlOf,
  type PublicKey
} from '../../domain/clients.js'
import { invalidSignature, unresolvedClient } from '../../domain/errors.js'

/** Maximum number of cached imported keys. */
const IMPORTED_KEYS_MAX = 10_000

/** What authenticating clients needs. */
export interface ClientAuthenticatorDependencies {
  readonly directory: Pick<ClientDirectory, 'findKey' | 'vouchFor'>
  readonly sharedStore: Pick<SharedStore, 'markOnce'>
  readonly policy: VerificationPolicy
  readonly clock: Clock
  /**
   * Counts requests whose signature was verified, before anything is stored for them; undefined when rate limits are off.
   */
  readonly countVerified?: CountVerified | undefined
}

/** Authenticates clients by their signatures: RFC 9421 with Ed25519, according to interface 5 and RFC 9635 §7.3.1. */
export function createClientAuthenticator(
  dependencies: ClientAuthenticatorDependencies
): ClientAuthenticator {
  const { directory, sharedStore, policy, clock, countVerified } = dependencies
  const imported = new LRUCache<string, ClientKey['publicKey']>({ max: IMPORTED_KEYS_MAX })
  // Used when there is no key to verify with. Nobody has its private key.
  const { publicKey: nobodysKey } = generateKeyPairSync('ed25519')

  const importKey: ClientAuthenticator['importKey'] = async ({ kid, x }) => {
    const known = imported.get(x)
    const publicKey = known ?? (await importEd25519Jwk({ x }))
    if (known === undefined) imported.set(x, publicKey)
    return { kid, x, publicKey }
  }

  const useNonce = async (signature: ReceivedSignature, nonce: string, key: PublicKey): Promise<void> => {
    // Hashed, so that stored marks have one length.
    const mark = `nonce:${hashSecret(`${key.x}\n${nonce}`).toString('base64url')}`
    // Lasts longer than the signature is fresh; after that, its age refuses it.
    const lifetimeSeconds = policy.ageMaxSeconds + policy.futureMaxSeconds + 1
    const isFirst = await sharedStore.markOnce(mark, lifetimeSeconds, signature.createdSeconds)
    if (!isFirst) throw refusal(new SignatureError('nonce', 'its nonce was used before, or may have been'))
  }

  return {
    importKey,
    async verify(signature, key) {
      refusing(() => {
        verifySignature(signature, key)
      })
      countVerified?.(signature, `key:${key.x}`)
      if (signature.nonce !== undefined) await useNonce(signature, signature.nonce, key)
    },
    receive: (request) => refusing(() => receiveSignature(request, policy, clock.now())),
    async verifyHolder(signature, holder) {
      const key = holder && (await findCurrentKey(holder, signature.keyId, directory))
      const isSigned = isSignedWith(
        signature,
        key === undefined ? { kid: signature.keyId, publicKey: nobodysKey } : await importKey(key)
      )
      if (holder === undefined || key === undefined || !isSigned) return false
      countVerified?.(signature, nameHolder(holder))
      if (signature.nonce !== undefined) await useNonce(signature, signature.nonce, key)
      if (holder.walletAddress !== undefined) directory.vouchFor(holder.walletAddress)
      return true
    }
  }
}

/** All keys of a client count together. */
function nameHolder({ walletAddress, keyX }: BoundClient): string {
  return walletAddress === undefined ? `key:${keyX}` : `wallet-address:${walletAddress}`
}

async function findCurrentKey(
  holder: BoundClient,
  keyId: string,
  directory: Pick<ClientDirectory, 'findKey'>
): Promise<PublicKey | undefined> {
  try {
    return await findHolderKey(holder, keyId, directory)
  } catch (error) {
    if (!(error instanceof DocumentUnavailable) || holder.walletAddress === undefined) throw error
    throw unresolvedClient(
      `the client's keys cannot be fetched from ${keysUrlOf(holder.walletAddress)}`,
      error
    )
  }
}

function isSignedWith(signature: ReceivedSignature, key: Pick<ClientKey, 'kid' | 'publicKey'>): boolean {
  try {
    verifySignature(signature, key)
    return true
  } catch (error) {
    if (error instanceof SignatureError) return false
    throw error
  }
}

/** Maps an error in a signature to the answer for it. */
function refusing<Result>(check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    throw error instanceof SignatureError ? refusal(error) : error
  }
}

function refusal(error: SignatureError): Error {
  return invalidSignature(error.message, error)
}
