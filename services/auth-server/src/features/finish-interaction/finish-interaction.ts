import type { Clock } from '@open-payments-server/value-types/clock'
import type { GrantCounters } from '../../domain/counters.js'
import { interactionNotActive, invalidSession } from '../../domain/errors.js'
import {
  finishHash,
  type FinishRequest,
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
  /** Where it is sent; what was decided, when the client did not request a redirect. */
  readonly end: { readonly location: string } | 'approved' | 'denied'
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
  const end = endOf(interaction, dependencies)
  dependencies.counters.countInteraction('finished')
  return {
    end,
    provedCode: interaction.finishCodeHash === undefined ? undefined : browser.finishCode
  }
}

function endOf(
  interaction: InteractionRecord,
  { clock, grantEndpoint }: FinishInteractionDependencies
): InteractionFinish['end'] {
  const decision = decisionOf(interaction, clock.now())
  const { finish } = interaction.grant
  if (finish === undefined) {
    if (decision === 'invalid') throw interactionNotActive()
    return decision
  }
  return { location: withQuery(finish.uri, resultOf(decision, finish, interaction, grantEndpoint)) }
}

/** What a client learns of how an interaction ended. */
function resultOf(
  decision: ReturnType<typeof decisionOf>,
  finish: FinishRequest,
  interaction: InteractionRecord,
  grantEndpoint: string
): Record<string, string> {
  switch (decision) {
    case 'approved':
      return { hash: finishHash(finish, interaction, grantEndpoint), interact_ref: interaction.reference }
    case 'denied':
      return { result: 'grant_rejected' }
    case 'invalid':
      return { result: 'grant_invalid' }
  }
}
