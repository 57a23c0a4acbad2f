import { requestParts, type RouteHandler } from '@open-payments-server/http-server'
import type { HolderAuthorizer } from '../../domain/authentication.js'
import type { RevokeTokenService } from './revoke-token.js'

/** `DELETE /token/{id}`: the client gives its token back (RFC 9635 §6.2). Repeating it has no effect. */
export function revokeTokenRoute(
  service: RevokeTokenService,
  holders: Pick<HolderAuthorizer, 'authorizeManagement'>,
  publicUrl: string
): RouteHandler {
  return async (request, response) => {
    const token = await holders.authorizeManagement(request.param('id'), requestParts(request, publicUrl))
    await service.revokeToken(token)
    response.sendEmpty(204)
  }
}
