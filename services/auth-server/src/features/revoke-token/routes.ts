import { requestParts, type Route } from '@open-payments-server/http-server'
import type { HolderAuthorizer } from '../authentication.js'
import { revokeToken, type RevokeTokenDependencies } from './revoke-token.js'

/** What the route needs. */
export interface RevokeTokenRouteDependencies extends RevokeTokenDependencies {
  readonly holders: Pick<HolderAuthorizer, 'authorizeManagement'>
  readonly publicUrl: string
}

/** `DELETE /token/{id}`: the client revokes its token (RFC 9635 §6.2). Idempotent. */
export function revokeTokenRoute(dependencies: RevokeTokenRouteDependencies): Route {
  const { holders, publicUrl } = dependencies
  return {
    method: 'DELETE',
    path: '/token/:id',
    handle: async (request, response) => {
      const token = await holders.authorizeManagement(request.param('id'), requestParts(request, publicUrl))
      await revokeToken(token, dependencies)
      response.sendEmpty(204)
    }
  }
}
