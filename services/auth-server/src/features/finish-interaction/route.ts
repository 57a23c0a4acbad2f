import { parseCookie } from 'cookie'
import type { RequestHandler } from 'express'
import { INTERACTION_COOKIE } from '../../domain/interactions.js'
import type { FinishInteractionService } from './service.js'

/** `GET /interact/{id}/{nonce}/finish`: the account holder's browser is done (RFC 9635 §4.2). */
export function finishInteractionRoute(
  service: FinishInteractionService
): RequestHandler<{ id: string; nonce: string }> {
  return async (request, response) => {
    const { id, nonce } = request.params
    const cookie = parseCookie(request.get('cookie') ?? '')[INTERACTION_COOKIE]
    const location = await service.finishInteraction(id, nonce, cookie)
    if (location === undefined) response.status(202).type('text/plain').send('Done. You can close this page.')
    else response.redirect(303, location)
  }
}
