import type { Clock } from '@open-payments-server/value-types/clock'
import type { GrantCounters } from '../../domain/counters.js'
import { interactionNotActive, invalidSession } from '../../domain/errors.js'
import {
  finishHash,
  type FinishingBrowser,
  type InteractionReader,
  type InteractionRecord,
  mayFinish,
  decisionOf
} from '../../domain/interactions.js'
import { withQuery } from '../../domain/urls.js'

/** What finishing interactions needs. */
export interface FinishInteractionDependencies {
  readonly interactions: InteractionReader
  readonly clock: Clock
  /** The grant endpoint exactly as wallet addresses advertise it. */
  readonly grantEndpoint: string
  readonly counters: Pick<GrantCounters, 'countInteraction'>
}

/** The answer to a browser that finishes. */
export interface InteractionFinish {
  /** Where it is sent; undefined when the client did not request a redirect. */
  readonly location: string | undefined
  /** The code that proved that the account holder consented in it; undefined when none was needed. */
  readonly provedCode: string | undefined
}

/** A browser that finishes an interaction. */
export interface FinishingRequest {
  /** Id (UUID) of the interaction. */
  readonly id: string
  readonly nonce: string
  readonly browser: FinishingBrowser
}

/**
 * Sends a browser back to the client (RFC 9635 §4.2).
 *
 * @throws Refusal `invalid-session` for an unknown interaction, another browser than the one that opened it, or one without
 *   the code of the approval; `interaction-not-active` when there is nothing to finish and no client to notify
 */
export async function finishInteraction(
  { id, nonce, browser }: FinishingRequest,
  dependencies: FinishInteractionDependencies
): Promise<InteractionFinish> {
  const interaction = await dependencies.interactions.find(id, nonce)
  // One answer for every reason: a browser that does not belong to an interaction learns nothing about it.
  if (interaction === undefined || !mayFinish(interaction, browser)) throw invalidSession()
  const location = locationOf(interaction, dependencies)
  dependencies.counters.countInteraction('finished')
  return {
    location,
    provedCode: interaction.finishCodeHash === undefined ? undefined : browser.finishCode
  }
}

function locationOf(
  interaction: InteractionRecord,
  { clock, grantEndpoint }: FinishInteractionDependencies
): string | undefined {
  const decision = decisionOf(interaction, clock.now())
  const { finish } = interaction.grant
  if (finish === undefined) {
    if (decision === 'invalid') throw interactionNotActive()
    return undefined
  }
  switch (decision) {
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
