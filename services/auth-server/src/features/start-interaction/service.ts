import type { Clock } from '@open-payments-server/runtime'
import { invalidInteraction, unknownInteraction } from '../../domain/errors.js'
import { type InteractionReader, interactionCookie, isOpen, outcomeOf } from '../../domain/interactions.js'
import { withQuery } from '../../domain/urls.js'

/** Where a browser goes when it starts an interaction. */
export interface InteractionStart {
  readonly location: string
  /** Value of the cookie that binds the interaction to this browser; undefined when it cannot be started. */
  readonly cookie: string | undefined
}

/** What starting interactions needs. */
export interface StartInteractionDependencies {
  readonly interactions: InteractionReader
  readonly clock: Clock
  readonly consentPageUrl: string
  readonly cookieSecret: string
}

/** Sends browsers to the consent page (RFC 9635 §4.1.1). */
export interface StartInteractionService {
  /**
   * @throws PublicError 404 `unknown_interaction`; 403 `invalid_interaction` when the interaction is over and the client
   *   did not ask to be told
   */
  startInteraction(id: string, nonce: string): Promise<InteractionStart>
}

/** Sends browsers to the consent page. */
export function createStartInteractionService(
  dependencies: StartInteractionDependencies
): StartInteractionService {
  return {
    async startInteraction(id, nonce) {
      const interaction = await dependencies.interactions.find(id, nonce)
      if (interaction === undefined) throw unknownInteraction(404)
      const { grant } = interaction
      if (isOpen(interaction, dependencies.clock.now())) {
        // The name and address are those the client proved, whatever the link says.
        const location = withQuery(dependencies.consentPageUrl, {
          interactId: interaction.id,
          nonce: interaction.nonce,
          clientName: grant.clientName,
          clientUri: grant.client
        })
        return { location, cookie: interactionCookie(dependencies.cookieSecret, interaction) }
      }
      // A page that is opened again must not tell the client that an approved grant is none.
      const outcome = outcomeOf(interaction)
      if (grant.finish === undefined || outcome === 'approved') {
        throw invalidInteraction(403, 'the interaction is over')
      }
      const result = outcome === 'denied' ? 'grant_rejected' : 'grant_invalid'
      return { location: withQuery(grant.finish.uri, { result }), cookie: undefined }
    }
  }
}
