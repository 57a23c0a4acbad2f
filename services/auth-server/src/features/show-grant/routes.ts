import type { RequestHandler } from 'express'
import { formatAccessItem } from '../../domain/access.js'
import { unknownInteraction } from '../../domain/errors.js'
import type { InteractionReader } from '../../domain/interactions.js'

/**
 * `GET /grant/{id}/{nonce}` for identity providers: what is requested, from whom, by whom, until when, and what was
 * decided. A cancelled grant requests nothing any more.
 */
export function showGrantRoute(
  interactions: InteractionReader
): RequestHandler<{ id: string; nonce: string }> {
  return async (request, response) => {
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
