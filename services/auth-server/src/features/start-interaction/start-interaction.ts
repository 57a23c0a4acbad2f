import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret, type Random, randomSecret } from '@open-payments-server/value-types/identifiers'
import type { GrantCounters } from '../../domain/counters.js'
import {
  type InteractionEnd,
  interactionOver,
  startedElsewhere,
  unknownInteraction
} from '../../domain/errors.js'
import {
  type FinishingBrowser,
  type InteractionReader,
  type InteractionRecord,
  isBoundTo,
  isOpen,
  mayFinish,
  decisionOf
} from '../../domain/interactions.js'
import { withQuery } from '../../domain/urls.js'
import type { Queries } from '../../modules/database.js'
import { bindBrowser } from '../../modules/interactions/index.js'

/** A browser that opens an interaction. */
export interface StartingBrowser extends FinishingBrowser {
  /** Whether the interaction may be bound to it: not when a scanner only follows the link. */
  readonly mayBind: boolean
  /** Whether a person is shown what happens, as a page: false for programs. */
  readonly takesPage: boolean
}

/** Where a browser is sent when it starts an interaction. */
export interface InteractionStart {
  readonly location: string
  /** Value of the cookie that binds the interaction to this browser; undefined when none is set. */
  readonly cookie: string | undefined
}

/** What starting interactions needs. */
export interface StartInteractionDependencies {
  readonly interactions: InteractionReader
  readonly database: Queries
  readonly clock: Clock
  readonly random: Random
  readonly consentPageUrl: string
  readonly counters: Pick<GrantCounters, 'countInteraction'>
}

/** A browser that opens the link of an interaction. */
export interface StartingRequest {
  /** Id (UUID) of the interaction. */
  readonly id: string
  readonly nonce: string
  readonly browser: StartingBrowser
}

/**
 * Sends a browser to the consent page (RFC 9635 §4.1.1). When the interaction is over, the browser that began is sent there
 * again, unless it proves that the interaction ended in it: the consent page knows the browser that decided. A person who did not begin
 * is not sent to the client by it: anybody can ask for a grant, and mail its link once it is over (RFC 9700 §4.11.2).
 *
 * @throws Refusal `unknown-interaction`; `interaction-not-startable` when another browser opened the interaction first, or
 *   when it has ended and the client is not to be notified of it by this browser; the browser in which it ended is told how
 */
export async function startInteraction(
  { id, nonce, browser }: StartingRequest,
  dependencies: StartInteractionDependencies
): Promise<InteractionStart> {
  const interaction = await dependencies.interactions.find(id, nonce)
  if (interaction === undefined) throw unknownInteraction()
  const isOwn = isBoundTo(interaction, browser.cookie)
  if (interaction.browserHash !== undefined && !isOwn) throw startedElsewhere()
  const nowMs = dependencies.clock.now()
  if (!isOpen(interaction, nowMs)) {
    if (!isOwn && browser.takesPage) throw interactionOver(undefined)
    const toClient = locationAfterEnd(interaction, browser, nowMs)
    return {
      location: toClient ?? consentPageOf(interaction, dependencies.consentPageUrl),
      cookie: undefined
    }
  }
  const cookie = isOwn || !browser.mayBind ? undefined : await bind(interaction, dependencies)
  return { location: consentPageOf(interaction, dependencies.consentPageUrl), cookie }
}

/** @returns the cookie of the browser */
async function bind(
  interaction: InteractionRecord,
  { random, database, counters }: StartInteractionDependencies
): Promise<string> {
  const cookie = randomSecret(random)
  if (!(await bindBrowser(database, interaction.id, hashSecret(cookie)))) throw startedElsewhere()
  counters.countInteraction('started')
  return cookie
}

function consentPageOf({ id, nonce, grant }: InteractionRecord, consentPageUrl: string): string {
  // The name and address are those that the client proved, whatever the link says.
  return withQuery(consentPageUrl, {
    interactId: id,
    nonce,
    clientName: grant.clientName,
    clientUri: grant.client
  })
}

/**
 * Where a browser is sent that opens an interaction too late.
 *
 * @returns undefined when only the consent page can know whether this browser took part in how it ended
 */
function locationAfterEnd(
  interaction: InteractionRecord,
  browser: StartingBrowser,
  nowMs: number
): string | undefined {
  const { finish } = interaction.grant
  const decision = decisionOf(interaction, nowMs)
  // Reopening the page must not tell the client that an approved grant is not approved.
  if (finish === undefined || decision === 'approved') {
    const end = endKnownTo(browser, interaction)
    if (end === undefined && isBoundTo(interaction, browser.cookie)) return undefined
    throw interactionOver(end)
  }
  return withQuery(finish.uri, { result: decision === 'denied' ? 'grant_rejected' : 'grant_invalid' })
}

/** How an interaction ended; undefined for a browser in which it did not end, even if it was the first to open it. */
function endKnownTo(browser: StartingBrowser, interaction: InteractionRecord): InteractionEnd | undefined {
  if (!mayFinish(interaction, browser)) return undefined
  switch (interaction.state) {
    case 'APPROVED':
      return 'accepted'
    case 'DENIED':
      return 'declined'
    case 'PENDING':
      return interaction.grant.state === 'pending' ? 'expired' : undefined
  }
}
