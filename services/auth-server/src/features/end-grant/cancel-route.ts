import { requestParts, type RouteHandler } from '@open-payments-server/http-server'
import type { HolderAuthorizer } from '../../domain/authentication.js'
import type { CancelGrantService } from './cancel-grant.js'

/** `DELETE /continue/{id}`: the client cancels its grant (RFC 9635 §5.4). Idempotent. */
export function cancelGrantRoute(
  service: CancelGrantService,
  holders: Pick<HolderAuthorizer, 'authorizeContinuation'>,
  publicUrl: string
): RouteHandler {
  return async (request, response) => {
    const grant = await holders.authorizeContinuation(request.param('id'), requestParts(request, publicUrl))
    await service.cancelGrant(grant.id)
    response.sendEmpty(204)
  }
}
