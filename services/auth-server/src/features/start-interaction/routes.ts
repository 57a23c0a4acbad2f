import type { Route } from '@open-payments-server/http-server'
import type { InteractionCookie } from '../interaction-cookie.js'
import { startInteraction, type StartInteractionDependencies } from './start-interaction.js'

/** What the route needs. */
export interface StartInteractionRouteDependencies extends StartInteractionDependencies {
  readonly interactionCookie: InteractionCookie
}

/**
 * `GET /interact/{id}/{nonce}`: the account holder's browser begins (RFC 9635 §4.1.1). The first browser that opens an
 * interaction keeps it; `HEAD`, which link scanners send, opens nothing.
 */
export function startInteractionRoute(dependencies: StartInteractionRouteDependencies): Route {
  const { interactionCookie } = dependencies
  return {
    method: 'GET',
    path: '/interact/:id/:nonce',
    handle: async (request, response) => {
      const id = request.param('id')
      const browser = {
        ...interactionCookie.read(request.get('cookie')),
        mayBind: request.method === 'GET',
        takesPage: request.accepts(['json', 'html']) === 'html'
      }
      const { location, cookie } = await startInteraction(
        { id, nonce: request.param('nonce'), browser },
        dependencies
      )
      if (cookie !== undefined) response.addField('Set-Cookie', interactionCookie.write(id, { cookie }))
      response.seeOther(location)
    }
  }
}
