import type { Clock } from '@open-payments-server/value-types/clock'
import { interactionDecided, unknownInteraction, userDenied } from '../../domain/errors.js'
import { type InteractionReader, lateness } from '../../domain/interactions.js'
import type { Queries } from '../../modules/database.js'
import { endGrant } from './end-grant.js'

/** What rejecting grants needs. */
export interface RejectGrantDependencies {
  readonly interactions: InteractionReader
  readonly database: Queries
  readonly clock: Clock
}

/** Records that the account holder declined. */
export interface RejectGrantService {
  /**
   * @param reason the reason for the client; undefined when the account holder gave none
   * @throws Refusal `unknown-interaction`, `user-denied` when the grant has ended, `interaction-decided` when the
   *   interaction has
   */
  rejectGrant(id: string, nonce: string, reason: string | undefined): Promise<void>
}

/** Records that the account holder declined. */
export function createRejectGrantService(dependencies: RejectGrantDependencies): RejectGrantService {
  const { interactions, database, clock } = dependencies
  return {
    async rejectGrant(id, nonce, reason) {
      const interaction = await interactions.find(id, nonce)
      if (interaction === undefined) throw unknownInteraction()
      const late = lateness(interaction, clock.now())
      if (late === 'denied') throw userDenied()
      const end = { state: 'rejected', from: ['pending'], reason } as const
      // The statement decides: another decision, or the client's cancellation, may have come first.
      const rejected =
        late === undefined && (await endGrant(database, { interactionId: id }, end, clock.now()))
      if (!rejected) throw interactionDecided()
    }
  }
}
