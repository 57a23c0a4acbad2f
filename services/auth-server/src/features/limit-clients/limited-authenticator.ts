import type { RequestParts } from '@open-payments-server/http-server'
import type { ReceivedSignature } from '@open-payments-server/http-signatures'
import type { Answer, RateLimits } from '@open-payments-server/rate-limits'
import type { ClientAuthenticator } from '../../domain/authentication.js'
import type { BoundClient } from '../../domain/clients.js'

/** A signature, and the answer that tells how much its client has left. */
interface AnsweredSignature extends ReceivedSignature {
  readonly answer?: Answer | undefined
}

/**
 * Counts whose signature was verified, and refuses a client that asks too often: a grant request by the key that signed it,
 * everything after that by the client that holds the grant. Who has only forged a signature uses up nobody's requests.
 */
export function limitAuthenticator(
  authenticator: ClientAuthenticator,
  limits: Pick<RateLimits, 'count'>
): ClientAuthenticator {
  const count = (signature: AnsweredSignature, client: string): void => {
    limits.count(signature.answer, { client })
  }

  return {
    ...authenticator,
    receive(request: RequestParts): AnsweredSignature {
      return { ...authenticator.receive(request), answer: request.answer }
    },
    async verify(signature, key) {
      await authenticator.verify(signature, key)
      count(signature, `key:${key.x}`)
    },
    async verifyHolder(signature, holder) {
      const isHolder = await authenticator.verifyHolder(signature, holder)
      if (isHolder && holder !== undefined) count(signature, nameHolder(holder))
      return isHolder
    }
  }
}

/** All keys of a client count together. */
function nameHolder({ walletAddress, keyX }: BoundClient): string {
  return walletAddress === undefined ? `key:${keyX}` : `wallet-address:${walletAddress}`
}
