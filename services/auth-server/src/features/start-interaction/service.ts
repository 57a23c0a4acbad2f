import { type Clock, hashSecret, type Random, randomSecret } from '@open-payments-server/runtime'
import { invalidInteraction, unknownInteraction } from '../../domain/errors.js'
import {
  type InteractionReader,
  type InteractionRecord,
  isBoundTo,
  isOpen,
  outcomeOf
} from '../../domain/interactions.js'
import { withQuery } from '../../domain/urls.js'
import type { StartInteractionRepository } from './repository.js'

/** A browser that opens an interaction. */
export interface StartingBrowser {
  /** The cookie of the interaction, as it presents it; undefined when it has none. */
  readonly cookie: string | undefined
  /** Whether the interaction may become its own: not when somebody only looks where a link leads. */
  readonly mayBind: boolean
}

/** Where a browser goes when it starts an interaction. */
export interface InteractionStart {
  readonly location: string
  /** Value of the cookie that binds the interaction to this browser; undefined when it is not to be given one. */
  readonly cookie: string | undefined
}

/** What starting interactions needs. */
export interface StartInteractionDependencies {
  readonly interactions: InteractionReader
  readonly repository: StartInteractionRepository
  readonly clock: Clock
  readonly random: Random
  readonly consentPageUrl: string
}

/** Sends browsers to the consent page (RFC 9635 §4.1.1). */
export interface StartInteractionService {
  /**
   * @throws PublicError 404 `unknown_interaction`; 403 `invalid_interaction` when another browser opened the interaction
   *   first, or when it is over and the client did not ask to be told
   */
  startInteraction(id: string, nonce: string, browser: StartingBrowser): Promise<InteractionStart>
}

/** Sends browsers to the consent page. */
export function createStartInteractionService(
  dependencies: StartInteractionDependencies
): StartInteractionService {
  return {
    async startInteraction(id, nonce, browser) {
      const interaction = await dependencies.interactions.find(id, nonce)
      if (interaction === undefined) throw unknownInteraction(404)
      const isOwn = isBoundTo(interaction, browser.cookie)
      if (interaction.browserHash !== undefined && !isOwn) throw startedElsewhere()
      const nowMs = dependencies.clock.now()
      if (!isOpen(interaction, nowMs)) {
        return { location: locationAfterEnd(interaction, nowMs), cookie: undefined }
      }
      const cookie = isOwn || !browser.mayBind ? undefined : await bind(interaction, dependencies)
      return { location: consentPageOf(interaction, dependencies.consentPageUrl), cookie }
    }
  }
}

function startedElsewhere(): Error {
  return invalidInteraction(403, 'the interaction was started in another browser')
}

/** @returns the cookie of the browser */
async function bind(
  interaction: InteractionRecord,
  { random, repository }: StartInteractionDependencies
): Promise<string> {
  const cookie = randomSecret(random)
  if (!(await repository.bind(interaction.id, hashSecret(cookie)))) throw startedElsewhere()
  return cookie
}

function consentPageOf({ id, nonce, grant }: InteractionRecord, consentPageUrl: string): string {
  // The name and address are those the client proved, whatever the link says.
  return withQuery(consentPageUrl, {
    interactId: id,
    nonce,
    clientName: grant.clientName,
    clientUri: grant.client
  })
}

/** Where a browser goes that opens an interaction too late. */
function locationAfterEnd(interaction: InteractionRecord, nowMs: number): string {
  const { finish } = interaction.grant
  const outcome = outcomeOf(interaction, nowMs)
  // A page that is opened again must not tell the client that an approved grant is none.
  if (finish === undefined || outcome === 'approved') throw invalidInteraction(403, 'the interaction is over')
  return withQuery(finish.uri, { result: outcome === 'denied' ? 'grant_rejected' : 'grant_invalid' })
}
