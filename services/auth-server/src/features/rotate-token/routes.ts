import { requestParts, type RouteHandler } from '@open-payments-server/http-server'
import type { HolderAuthorizer } from '../authentication.js'
import type { RotateTokenService } from './rotate-token.js'

/** `POST /token/{id}` (interface 4.2, RFC 9635 §6.1). */
export function rotateTokenRoute(
  service: RotateTokenService,
  holders: Pick<HolderAuthorizer, 'authorizeManagement'>,
  publicUrl: string
): RouteHandler {
  return async (request, response) => {
    const token = await holders.authorizeManagement(request.param('id'), requestParts(request, publicUrl))
    response.sendJson(200, await service.rotateToken(token))
  }
}
