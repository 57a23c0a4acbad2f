import type { Clock } from '@open-payments-server/runtime'
import { invalidInteraction, unknownInteraction, userDenied } from '../../domain/errors.js'
import { type InteractionReader, lateness } from '../../domain/interactions.js'
import type { AcceptGrantRepository } from './repository.js'

/** What accepting grants needs. */
export interface AcceptGrantDependencies {
  readonly interactions: InteractionReader
  readonly repository: AcceptGrantRepository
  readonly clock: Clock
}

/** Records that the account holder agreed. */
export interface AcceptGrantService {
  /**
   * @throws PublicError 404 `unknown_interaction`, 401 `user_denied` when the grant is over, 400 `invalid_interaction`
   *   when the interaction is
   */
  acceptGrant(id: string, nonce: string): Promise<void>
}

/** Records that the account holder agreed. */
export function createAcceptGrantService(dependencies: AcceptGrantDependencies): AcceptGrantService {
  const { interactions, repository, clock } = dependencies
  return {
    async acceptGrant(id, nonce) {
      const interaction = await interactions.find(id, nonce)
      if (interaction === undefined) throw unknownInteraction(404)
      const late = lateness(interaction, clock.now())
      if (late === 'denied') throw userDenied()
      // The statement decides: another choice, or the client's cancellation, may have come first.
      const accepted = late === undefined && (await repository.accept(id, new Date(clock.now())))
      if (!accepted) throw invalidInteraction(400, 'invalid interaction')
    }
  }
}
