import type { HttpRequestParts } from '@open-payments-server/http-signatures'
import { isUuid } from '@open-payments-server/runtime'
import type { ClientAuthenticator, HolderAuthorizer } from '../../domain/authentication.js'
import { invalidContinuation, invalidToken } from '../../domain/errors.js'
import { matchesHash, parseGnapToken } from '../../domain/secrets.js'
import type { HolderRepository } from './repository.js'

/** Checks the presented token first, then the signature; tells nobody which grants and tokens there are. */
export function createHolderAuthorizer(
  repository: HolderRepository,
  authenticator: Pick<ClientAuthenticator, 'receive' | 'verifyHolder'>
): HolderAuthorizer {
  return {
    async authorizeContinuation(continuationId, request) {
      const continuationToken = readToken(request)
      if (continuationToken === undefined || !isUuid(continuationId)) throw invalidContinuation()
      const found = await repository.findGrant(continuationId)
      if (found === undefined || !matchesHash(continuationToken, found.continuationTokenHash)) {
        throw invalidContinuation()
      }
      await authenticator.verifyHolder(authenticator.receive(request), found.holder)
      return { ...found.grant, continuationToken }
    },

    async authorizeManagement(tokenId, request) {
      const accessToken = readToken(request)
      if (accessToken === undefined || !isUuid(tokenId)) throw invalidToken()
      const found = await repository.findToken(tokenId)
      if (found === undefined || !matchesHash(accessToken, found.token.valueHash)) throw invalidToken()
      await authenticator.verifyHolder(authenticator.receive(request), found.holder)
      return found.token
    }
  }
}

function readToken(request: HttpRequestParts): string | undefined {
  const header = request.headers.authorization
  const [value, ...others] = typeof header === 'string' ? [header] : (header ?? [])
  return others.length > 0 ? undefined : parseGnapToken(value)
}
