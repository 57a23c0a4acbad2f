import type { Clock } from '@open-payments-server/value-types/clock'
import type { GrantCounters } from '../../domain/counters.js'
import { interactionDecided, unknownInteraction, userDenied } from '../../domain/errors.js'
import { type InteractionReader, lateness } from '../../domain/interactions.js'
import type { Queries } from '../../modules/database.js'
import { endGrant } from './end-grant.js'

/** What rejecting grants needs. */
export interface RejectGrantDependencies {
  readonly interactions: InteractionReader
  readonly database: Queries
  readonly clock: Clock
  readonly counters: Pick<GrantCounters, 'countInteraction' | 'countGrant'>
}

/** An account holder's refusal, as the identity provider reports it. */
export interface RejectRequest {
  /** Id (UUID) of the interaction. */
  readonly id: string
  readonly nonce: string
  /** The reason for the client; undefined when the account holder gave none. */
  readonly reason: string | undefined
}

/**
 * Records that the account holder declined.
 *
 * @throws Refusal `unknown-interaction`, `user-denied` when the grant has ended, `interaction-decided` when the interaction
 *   has
 */
export async function rejectGrant(
  { id, nonce, reason }: RejectRequest,
  { interactions, database, clock, counters }: RejectGrantDependencies
): Promise<void> {
  const interaction = await interactions.find(id, nonce)
  if (interaction === undefined) throw unknownInteraction()
  const late = lateness(interaction, clock.now())
  if (late === 'denied') throw userDenied()
  const end = { state: 'rejected', from: ['pending'], reason } as const
  // The statement decides: another decision, or the client's cancellation, may have come first.
  const rejected = late === undefined && (await endGrant(database, { interactionId: id }, end, clock.now()))
  if (!rejected) throw interactionDecided()
  counters.countInteraction('rejected')
  counters.countGrant('rejected')
}
