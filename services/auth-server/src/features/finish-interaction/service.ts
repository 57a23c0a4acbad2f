import { PublicError } from '@open-payments-server/http-server'
import { invalidInteraction, unknownInteraction } from '../../domain/errors.js'
import {
  finishHash,
  type InteractionReader,
  type InteractionRecord,
  isInteractionCookie,
  outcomeOf
} from '../../domain/interactions.js'
import { withQuery } from '../../domain/urls.js'

/** What finishing interactions needs. */
export interface FinishInteractionDependencies {
  readonly interactions: InteractionReader
  /** The grant endpoint exactly as wallet addresses advertise it. */
  readonly grantEndpoint: string
  readonly cookieSecret: string
}

/** Sends browsers back to the client (RFC 9635 §4.2). */
export interface FinishInteractionService {
  /**
   * @param cookie the cookie of the interaction, as the browser presents it
   * @returns where the browser goes; undefined when the client did not ask to be told
   * @throws PublicError 401 `invalid_request` for another browser than the one that started the interaction, 404
   *   `unknown_interaction`, or 401 `invalid_interaction` when there is nothing to finish and nobody to tell
   */
  finishInteraction(id: string, nonce: string, cookie: string | undefined): Promise<string | undefined>
}

/** Sends browsers back to the client. */
export function createFinishInteractionService(
  dependencies: FinishInteractionDependencies
): FinishInteractionService {
  return {
    async finishInteraction(id, nonce, cookie) {
      if (!isInteractionCookie(cookie, dependencies.cookieSecret, { id, nonce })) {
        throw new PublicError({ status: 401, code: 'invalid_request', description: 'invalid session' })
      }
      const interaction = await dependencies.interactions.find(id, nonce)
      if (interaction === undefined) throw unknownInteraction(404)
      return locationOf(interaction, dependencies.grantEndpoint)
    }
  }
}

function locationOf(interaction: InteractionRecord, grantEndpoint: string): string | undefined {
  const outcome = outcomeOf(interaction)
  const { finish } = interaction.grant
  if (finish === undefined) {
    if (outcome === 'invalid') throw invalidInteraction(401, 'interaction is not active')
    return undefined
  }
  switch (outcome) {
    case 'approved':
      return withQuery(finish.uri, {
        hash: finishHash(finish, interaction, grantEndpoint),
        interact_ref: interaction.reference
      })
    case 'denied':
      return withQuery(finish.uri, { result: 'grant_rejected' })
    case 'invalid':
      return withQuery(finish.uri, { result: 'grant_invalid' })
  }
}
