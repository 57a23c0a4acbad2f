import type { HttpRequestParts } from '@open-payments-server/http-signatures'
import { isUuid } from '@open-payments-server/runtime'
import type { ClientAuthenticator, HolderAuthorizer } from '../../domain/authentication.js'
import type { BoundClient } from '../../domain/clients.js'
import { invalidContinuation, invalidToken } from '../../domain/errors.js'
import { matchesHash, parseGnapToken } from '../../domain/secrets.js'
import type { HolderRepository } from './repository.js'

/** Stands in where nothing was found. No secret has this hash. */
const NO_HASH = Buffer.alloc(32)

/**
 * Checks the signature as far as it goes without a key, the presented token, and whose signature it is. An unknown id, a
 * wrong token and another's key cost the same, one statement and one verification, and are refused in the same words: so
 * nobody learns which grants and tokens there are. Keys are looked up only for who presented the right token.
 */
export function createHolderAuthorizer(
  repository: HolderRepository,
  authenticator: Pick<ClientAuthenticator, 'receive' | 'verifyHolder'>
): HolderAuthorizer {
  /** What is found, and the token that was presented for it; undefined for everyone but its holder. */
  const authorize = async <Found extends { readonly holder: BoundClient; readonly secretHash: Uint8Array }>(
    id: string,
    request: HttpRequestParts,
    find: (id: string) => Promise<Found | undefined>
  ): Promise<{ readonly found: Found; readonly secret: string } | undefined> => {
    const signature = authenticator.receive(request)
    const secret = readToken(request)
    if (secret === undefined || !isUuid(id)) return undefined
    const found = await find(id)
    const isRight = matchesHash(secret, found?.secretHash ?? NO_HASH)
    const isHolder = await authenticator.verifyHolder(signature, isRight ? found?.holder : undefined)
    return found !== undefined && isRight && isHolder ? { found, secret } : undefined
  }

  return {
    async authorizeContinuation(continuationId, request) {
      const authorized = await authorize(continuationId, request, (id) => repository.findGrant(id))
      if (authorized === undefined) throw invalidContinuation()
      return { ...authorized.found.grant, continuationToken: authorized.secret }
    },

    async authorizeManagement(tokenId, request) {
      const authorized = await authorize(tokenId, request, (id) => repository.findToken(id))
      if (authorized === undefined) throw invalidToken()
      return authorized.found.token
    }
  }
}

function readToken(request: HttpRequestParts): string | undefined {
  const header = request.headers.authorization
  const [value, ...others] = typeof header === 'string' ? [header] : (header ?? [])
  return others.length > 0 ? undefined : parseGnapToken(value)
}
