import { requestParts, type RouteHandler } from '@open-payments-server/http-server'
import type { HolderAuthorizer } from '../authentication.js'
import type { RevokeTokenService } from './revoke-token.js'

/** `DELETE /token/{id}`: the client revokes its token (RFC 9635 §6.2). Idempotent. */
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
