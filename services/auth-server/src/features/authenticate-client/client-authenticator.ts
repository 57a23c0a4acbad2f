import {
  importEd25519Jwk,
  type ReceivedSignature,
  receiveSignature,
  SignatureError,
  type VerificationPolicy,
  verifySignature
} from '@open-payments-server/http-signatures'
import type { Clock } from '@open-payments-server/runtime'
import type { SharedStore } from '@open-payments-server/shared-store'
import { LRUCache } from 'lru-cache'
import type { ClientAuthenticator } from '../../domain/authentication.js'
import {
  type BoundClient,
  type ClientDirectory,
  type ClientKey,
  DocumentUnavailable
} from '../../domain/clients.js'
import { invalidSignature, unresolvedClient } from '../../domain/errors.js'

/** Most imported keys that are kept. */
const IMPORTED_KEYS_MAX = 10_000

/** What authenticating clients needs. */
export interface ClientAuthenticatorDependencies {
  readonly directory: Pick<ClientDirectory, 'findKey'>
  readonly sharedStore: Pick<SharedStore, 'markOnce'>
  readonly policy: VerificationPolicy
  readonly clock: Clock
}

/** Authenticates clients by their signatures: RFC 9421 with Ed25519, as interface 5 and RFC 9635 §7.3.1 say. */
export function createClientAuthenticator(
  dependencies: ClientAuthenticatorDependencies
): ClientAuthenticator {
  const { directory, sharedStore, policy, clock } = dependencies
  const imported = new LRUCache<string, ClientKey['publicKey']>({ max: IMPORTED_KEYS_MAX })

  const importKey: ClientAuthenticator['importKey'] = ({ kid, x }) => {
    const publicKey =
      imported.get(x) ?? importEd25519Jwk({ kid, x, kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' })
    imported.set(x, publicKey)
    return { kid, x, publicKey }
  }

  const useNonce = async (signature: ReceivedSignature, key: ClientKey): Promise<void> => {
    if (signature.nonce === undefined) return
    // Outlives the signature: after that, its age refuses it.
    const lifetimeSeconds = policy.ageMaxSeconds + policy.futureMaxSeconds + 1
    const isFirst = await sharedStore.markOnce(`signature-nonce:${key.x}:${signature.nonce}`, lifetimeSeconds)
    if (!isFirst) throw invalidSignature('its nonce was used before')
  }

  const verify: ClientAuthenticator['verify'] = async (signature, key) => {
    refusing(() => {
      verifySignature(signature, key)
    })
    await useNonce(signature, key)
  }

  return {
    importKey,
    verify,
    receive: (request) => refusing(() => receiveSignature(request, policy, clock.now())),
    async verifyHolder(signature, holder) {
      const bound = importKey({ kid: holder.keyId, x: holder.keyX })
      if (isSignedWith(signature, bound)) {
        await useNonce(signature, bound)
        return
      }
      const current = await findCurrentKey(directory, holder, signature.keyId)
      if (current === undefined) throw invalidSignature('it was not made with a key of the client')
      await verify(signature, current)
    }
  }
}

async function findCurrentKey(
  directory: Pick<ClientDirectory, 'findKey'>,
  holder: BoundClient,
  keyId: string
): Promise<ClientKey | undefined> {
  if (holder.walletAddress === undefined) return undefined
  try {
    return await directory.findKey(holder.walletAddress, keyId)
  } catch (error) {
    if (error instanceof DocumentUnavailable)
      throw unresolvedClient("the client's keys cannot be fetched", error)
    throw error
  }
}

function isSignedWith(signature: ReceivedSignature, key: ClientKey): boolean {
  try {
    verifySignature(signature, key)
    return true
  } catch (error) {
    if (error instanceof SignatureError) return false
    throw error
  }
}

/** Turns what is wrong with a signature into the answer for it. */
function refusing<Result>(check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    if (error instanceof SignatureError) throw invalidSignature(error.message, error)
    throw error
  }
}
