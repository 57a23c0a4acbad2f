import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret, type Random, randomSecret } from '@open-payments-server/value-types/identifiers'
import type { GrantCounters } from '../../domain/counters.js'
import { interactionDecided, invalidField, unknownInteraction, userDenied } from '../../domain/errors.js'
import { type InteractionReader, lateness } from '../../domain/interactions.js'
import type { Queries } from '../../modules/database.js'
import { approveGrant } from './approve-grant.js'

/** What accepting grants needs. */
export interface AcceptGrantDependencies {
  readonly interactions: InteractionReader
  readonly database: Queries
  readonly clock: Clock
  readonly random: Random
  /** How long the client has to continue the grant. */
  readonly referenceLifetimeSeconds: number
  /** Whether every approval must request a finish code. */
  readonly finishCodeRequired: boolean
  readonly counters: Pick<GrantCounters, 'countInteraction'>
}

/** An account holder's consent, as the identity provider reports it. */
export interface AcceptRequest {
  /** Id (UUID) of the interaction. */
  readonly id: string
  readonly nonce: string
  /** Whether finishing is to need a code. */
  readonly wantsFinishCode: boolean
}

/**
 * Records that the account holder agreed.
 *
 * @returns the code that the browser must then bring to `finish`; undefined when it needs none
 * @throws Refusal `invalid-field` when a finish code must be requested, `unknown-interaction`, `user-denied` when the grant
 *   has ended, `interaction-decided` when the interaction has
 */
export async function acceptGrant(
  { id, nonce, wantsFinishCode }: AcceptRequest,
  dependencies: AcceptGrantDependencies
): Promise<string | undefined> {
  const { interactions, database, clock, random, counters } = dependencies
  if (dependencies.finishCodeRequired && !wantsFinishCode) throw finishCodeMissing()
  const interaction = await interactions.find(id, nonce)
  if (interaction === undefined) throw unknownInteraction()
  const late = lateness(interaction, clock.now())
  if (late === 'denied') throw userDenied()
  const finishCode = wantsFinishCode ? randomSecret(random) : undefined
  const nowMs = clock.now()
  const approval = {
    interactionId: id,
    nowMs,
    continueBeforeMs: nowMs + dependencies.referenceLifetimeSeconds * 1_000,
    finishCodeHash: finishCode === undefined ? undefined : hashSecret(finishCode)
  }
  // The statement decides: another decision, or the client's cancellation, may have come first.
  const accepted = late === undefined && (await approveGrant(database, approval))
  if (!accepted) throw interactionDecided()
  counters.countInteraction('accepted')
  return finishCode
}

function finishCodeMissing(): Error {
  return invalidField(
    'finishCode',
    'send JSON { "finishCode": true }, and the browser to finish?code=<the finishCode of the answer>'
  )
}
