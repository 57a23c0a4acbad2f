import { seeOther } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import type { InteractionCookie } from '../../domain/interaction-cookie.js'
import type { StartInteractionService } from './start-interaction.js'

/**
 * `GET /interact/{id}/{nonce}`: the account holder's browser begins (RFC 9635 §4.1.1). The first browser that opens an
 * interaction keeps it; `HEAD`, which programs send that look at links, opens nothing.
 */
export function startInteractionRoute(
  service: StartInteractionService,
  interactionCookie: InteractionCookie
): RequestHandler<{ id: string; nonce: string }> {
  return async (request, response) => {
    const { id, nonce } = request.params
    const { location, cookie } = await service.startInteraction(id, nonce, {
      ...interactionCookie.read(request.get('cookie')),
      mayBind: request.method === 'GET'
    })
    if (cookie !== undefined) response.append('Set-Cookie', interactionCookie.write(id, { cookie }))
    seeOther(response, location)
  }
}
