import { stringifySetCookie } from 'cookie'
import type { RequestHandler } from 'express'
import { INTERACTION_COOKIE } from '../../domain/interactions.js'
import type { ServiceAddresses } from '../../domain/urls.js'
import type { StartInteractionService } from './service.js'

/** `GET /interact/{id}/{nonce}`: the account holder's browser begins (RFC 9635 §4.1.1). */
export function startInteractionRoute(
  service: StartInteractionService,
  addresses: ServiceAddresses,
  lifetimeSeconds: number
): RequestHandler<{ id: string; nonce: string }> {
  const secure = new URL(addresses.grantEndpoint).protocol === 'https:'
  return async (request, response) => {
    const { id, nonce } = request.params
    const { location, cookie } = await service.startInteraction(id, nonce)
    if (cookie !== undefined) {
      response.append(
        'Set-Cookie',
        stringifySetCookie({
          name: INTERACTION_COOKIE,
          value: cookie,
          // One path an interaction, so that several in one browser do not meet.
          path: addresses.interactPath(id),
          maxAge: lifetimeSeconds,
          httpOnly: true,
          sameSite: 'lax',
          secure
        })
      )
    }
    response.redirect(302, location)
  }
}
