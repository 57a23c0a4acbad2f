import type { RouteHandler } from '@open-payments-server/http-server'
import type { InteractionCookie } from '../interaction-cookie.js'
import type { StartInteractionService } from './start-interaction.js'

/**
 * `GET /interact/{id}/{nonce}`: the account holder's browser begins (RFC 9635 §4.1.1). The first browser that opens an
 * interaction keeps it; `HEAD`, which link scanners send, opens nothing.
 */
export function startInteractionRoute(
  service: StartInteractionService,
  interactionCookie: InteractionCookie
): RouteHandler {
  return async (request, response) => {
    const id = request.param('id')
    const { location, cookie } = await service.startInteraction(id, request.param('nonce'), {
      ...interactionCookie.read(request.get('cookie')),
      mayBind: request.method === 'GET'
    })
    if (cookie !== undefined) response.addField('Set-Cookie', interactionCookie.write(id, { cookie }))
    response.seeOther(location)
  }
}
