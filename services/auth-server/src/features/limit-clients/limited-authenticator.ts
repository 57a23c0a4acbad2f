import type { ReceivedSignature } from '@open-payments-server/http-signatures'
import type { RateLimits, RequestHeaders } from '@open-payments-server/rate-limits'
import type { ClientAuthenticator } from '../../domain/authentication.js'
import type { BoundClient } from '../../domain/clients.js'

/**
 * Counts whose signature was verified, and refuses a client that asks too often: a grant request by the key that signed it,
 * everything after that by the client that holds the grant. Who has only forged a signature uses up nobody's requests.
 */
export function limitAuthenticator(
  authenticator: ClientAuthenticator,
  limits: Pick<RateLimits, 'count'>
): ClientAuthenticator {
  const headersOf = new WeakMap<ReceivedSignature, RequestHeaders>()
  const count = (signature: ReceivedSignature, client: string): Promise<void> =>
    limits.count(headersOf.get(signature), { client })

  return {
    ...authenticator,
    receive(request) {
      const signature = authenticator.receive(request)
      headersOf.set(signature, request.headers as RequestHeaders)
      return signature
    },
    async verify(signature, key) {
      await authenticator.verify(signature, key)
      await count(signature, `key:${key.x}`)
    },
    async verifyHolder(signature, holder) {
      const isHolder = await authenticator.verifyHolder(signature, holder)
      if (isHolder && holder !== undefined) await count(signature, nameHolder(holder))
      return isHolder
    }
  }
}

/** All keys of a client count together. */
function nameHolder({ walletAddress, keyX }: BoundClient): string {
  return walletAddress === undefined ? `key:${keyX}` : `wallet-address:${walletAddress}`
}
