import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret, type Random, randomSecret } from '@open-payments-server/value-types/identifiers'
import type { AccessItem } from '../../domain/access.js'
import type { ConsentRecord } from '../../domain/consent-proof.js'
import type { GrantCounters } from '../../domain/counters.js'
import { interactionDecided, invalidField, unknownInteraction, userDenied } from '../../domain/errors.js'
import { type InteractionReader, type InteractionRecord, lateness } from '../../domain/interactions.js'
import { narrowAccess } from '../../domain/narrowing.js'
import type { SignInRule } from '../../domain/sign-in-rule.js'
import type { Queries } from '../../modules/database.js'
import { consentTerms } from '../consent-document.js'
import type { ProveHolderDependencies } from '../prove-holder.js'
import { approveGrant } from './approve-grant.js'
import { type ProvenConsent, verifyConsent } from './verify-consent.js'

/** What accepting grants needs. */
export interface AcceptGrantDependencies extends ProveHolderDependencies {
  readonly interactions: InteractionReader
  readonly database: Queries
  readonly clock: Clock
  readonly random: Random
  /** How long the client has to continue the grant. */
  readonly referenceLifetimeSeconds: number
  /** Whether every approval must request a finish code. */
  readonly finishCodeRequired: boolean
  /** Whether acceptances must have a proof; `either` takes both kinds. */
  readonly consentProof: 'none' | 'required' | 'either'
  readonly signInRule: SignInRule
  /** The grant endpoint exactly as wallet addresses advertise it. */
  readonly grantEndpoint: string
  readonly counters: Pick<GrantCounters, 'countInteraction'>
}

/** An account holder's consent, as the identity provider reports it. */
export interface AcceptRequest {
  /** Id (UUID) of the interaction. */
  readonly id: string
  readonly nonce: string
  /** Whether finishing is to need a code. */
  readonly wantsFinishCode: boolean
  /** What is granted: less than was asked; undefined for everything that was. */
  readonly access?: readonly AccessItem[] | undefined
  /** When what is granted ends, in milliseconds since 1970; undefined when no end was set. */
  readonly endsAtMs?: number | undefined
  /** ID token of the account holder. */
  readonly idToken?: string | undefined
  /** Statement of the resource server that they hold the wallet address. */
  readonly ownership?: string | undefined
  /** The consent document that the ID token is about. */
  readonly document?: ProvenConsent['document'] | undefined
}

/** The members of an acceptance that prove it: all of them, or none. */
const PROOF = ['idToken', 'ownership', 'document'] as const

/**
 * Records that the account holder agreed.
 *
 * @returns the code that the browser must then bring to `finish`; undefined when it needs none
 * @throws Refusal `invalid-field` when a finish code must be requested, for a proof that is missing or wrong, and for more than was
 *   asked; `issuer-unavailable` when it cannot be verified; `unknown-interaction`, `user-denied` when the grant has ended,
 *   `interaction-decided` when the interaction has
 */
export async function acceptGrant(
  request: AcceptRequest,
  dependencies: AcceptGrantDependencies
): Promise<string | undefined> {
  const { id, nonce, wantsFinishCode } = request
  const { interactions, database, clock, random, counters } = dependencies
  if (dependencies.finishCodeRequired && !wantsFinishCode) throw finishCodeMissing()
  const interaction = await interactions.find(id, nonce)
  if (interaction === undefined) throw unknownInteraction()
  const late = lateness(interaction, clock.now())
  if (late === 'denied') throw userDenied()
  const { endsAtMs } = request
  if (endsAtMs !== undefined && endsAtMs <= clock.now()) throw invalidField('endsAt', 'must be in the future')
  const granted = request.access && narrowAccess(interaction.grant.access, request.access)
  const consentRecord = await proveConsent(request, interaction, dependencies)
  const finishCode = wantsFinishCode ? randomSecret(random) : undefined
  const nowMs = clock.now()
  const approval = {
    interactionId: id,
    nowMs,
    continueBeforeMs: nowMs + dependencies.referenceLifetimeSeconds * 1_000,
    finishCodeHash: finishCode === undefined ? undefined : hashSecret(finishCode),
    endsAtMs,
    granted,
    consentRecord,
    needsConsentRecord: consentRecord !== undefined || dependencies.consentProof === 'required'
  }
  // The statement decides: another decision, or the client's cancellation, may have come first.
  const accepted = late === undefined && (await approveGrant(database, approval))
  if (!accepted) throw interactionDecided()
  counters.countInteraction('accepted')
  return finishCode
}

/** The proof of the consent, verified; undefined for consent without one, where that counts. */
async function proveConsent(
  request: AcceptRequest,
  interaction: InteractionRecord,
  dependencies: AcceptGrantDependencies
): Promise<ConsentRecord | undefined> {
  const proof = readProof(request, dependencies.consentProof)
  if (proof === undefined) return undefined
  const access = request.access ?? interaction.grant.access
  const terms = consentTerms(interaction, { access, endsAtMs: request.endsAtMs }, dependencies.grantEndpoint)
  return verifyConsent(proof, terms, dependencies.signInRule(access), dependencies)
}

/** @throws Refusal `invalid-field` for a proof that is missing, in part or as a whole, or that nobody looks at */
function readProof(
  request: AcceptRequest,
  consentProof: AcceptGrantDependencies['consentProof']
): ProvenConsent | undefined {
  const { idToken, ownership, document } = request
  const given = PROOF.find((member) => request[member] !== undefined)
  if (consentProof === 'none' && given !== undefined)
    throw invalidField(given, 'is not taken: CONSENT_PROOF is none')
  if (consentProof !== 'required' && given === undefined) return undefined
  if (idToken === undefined || ownership === undefined || document === undefined)
    throw invalidField(PROOF.find((member) => request[member] === undefined) ?? 'idToken', 'is required')
  return { idToken, ownership, document }
}

function finishCodeMissing(): Error {
  return invalidField(
    'finishCode',
    'send JSON { "finishCode": true }, and the browser to finish?code=<the finishCode of the answer>'
  )
}
