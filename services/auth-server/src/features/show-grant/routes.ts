import { formatAccessItem } from '../../domain/access.js'
import { unknownInteraction } from '../../domain/errors.js'
import type { InteractionReader } from '../../domain/interactions.js'
import type { IdentityProviderRoute } from '../identity-provider-route.js'

/** What the route needs. */
export interface ShowGrantRouteDependencies {
  readonly interactions: InteractionReader
}

/**
 * `GET /grant/{id}/{nonce}` for identity providers: what is requested, from whom, by whom, until when, and what was
 * decided. A cancelled grant requests nothing any more.
 */
export function showGrantRoute({ interactions }: ShowGrantRouteDependencies): IdentityProviderRoute {
  return {
    method: 'GET',
    path: '/grant/:id/:nonce',
    handle: async (request, response) => {
      const interaction = await interactions.find(request.params.id, request.params.nonce)
      if (interaction === undefined || interaction.grant.state === 'revoked') throw unknownInteraction()
      const { grant, state, walletAddress, expiresAtMs } = interaction
      response.json({
        grantId: grant.id,
        access: grant.access.map(formatAccessItem),
        ...(grant.subject === undefined ? {} : { subject: grant.subject }),
        walletAddress,
        state,
        expiresAt: new Date(expiresAtMs).toISOString(),
        client: grant.client,
        clientName: grant.clientName
      })
    }
  }
}
