import {
  receiveSignature,
  SignatureError,
  type VerificationPolicy,
  verifySignature
} from '@open-payments-server/http-signatures'
import {
  createKeyImporter,
  isSignedWith,
  type NonceDependencies,
  useNonce
} from '@open-payments-server/service-kit/signatures'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { ClientAuthenticator, CountVerified } from '../authentication.js'
import {
  type BoundClient,
  cannotResolve,
  type ClientDirectory,
  DocumentUnavailable,
  findHolderKey,
  keysUrlOf,
  type PublicKey
} from '../../domain/clients.js'
import { invalidSignature } from '../../domain/errors.js'

/** What authenticating clients needs. */
export interface ClientAuthenticatorDependencies extends NonceDependencies {
  readonly directory: Pick<ClientDirectory, 'findKey' | 'vouchFor'>
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
  const { directory, policy, clock, countVerified } = dependencies
  const importKey = createKeyImporter()
  return {
    importKey,
    async verify(signature, key) {
      refusing(() => {
        verifySignature(signature, key)
      })
      countVerified?.(signature, `key:${key.x}`)
      refuseIf(await useNonce(signature, key, dependencies))
    },
    receive: (request) => refusing(() => receiveSignature(request, policy, clock.now())),
    async verifyHolder(signature, holder) {
      const published = holder && (await findCurrentKey(holder, signature.keyId, directory))
      const key = published && (await importKey(published))
      const isSigned = isSignedWith(signature, key)
      if (holder === undefined || key === undefined || !isSigned) return false
      countVerified?.(signature, nameHolder(holder))
      refuseIf(await useNonce(signature, key, dependencies))
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
    const url = keysUrlOf(holder.walletAddress)
    throw cannotResolve({ document: "the client's keys", url, isProven: true }, error)
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

function refuseIf(error: SignatureError | undefined): void {
  if (error !== undefined) throw refusal(error)
}

function refusal(error: SignatureError): Error {
  return invalidSignature(error.message, error)
}
