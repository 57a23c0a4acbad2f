import type { AllowedGrant } from '../../domain/allowed-grants.js'
import type { SignInDemand, SignInRule } from '../../domain/sign-in-rule.js'
import { canonicalJson } from '../prove-holder.js'

/** How it is proved that an account holder wants to resume a grant. */
export interface ResumptionRules {
  /** Whether resuming must have a proof; `either` takes both kinds. */
  readonly consentProof: 'none' | 'required' | 'either'
  readonly signInRule: SignInRule
  /** The grant endpoint exactly as wallet addresses advertise it. */
  readonly grantEndpoint: string
}

/** What an ID token is about that resumes a grant, once. */
export interface Resumption {
  /** Canonical JSON (RFC 8785). The base64url of its SHA-256 is the nonce of the ID token. */
  readonly document: string
  /** How the account holder must have signed in; undefined when that does not matter. */
  readonly signIn: SignInDemand | undefined
}

/**
 * What proves that somebody wants to resume a grant. It names the act after which they do: after the next one, it is another one.
 *
 * @param lastActId id of the last act on the grant (UUID); undefined before the first one
 * @returns undefined when the grant is not paused, and where no proof is taken
 */
export function resumptionOf(
  grant: AllowedGrant,
  lastActId: string | undefined,
  { consentProof, signInRule, grantEndpoint }: ResumptionRules
): Resumption | undefined {
  if (grant.state !== 'paused' || consentProof === 'none') return undefined
  const wish = { authServer: grantEndpoint, grant: grant.id, act: 'resumed', after: lastActId ?? grant.id }
  return { document: canonicalJson(wish), signIn: signInRule(grant.access.map(({ item }) => item)) }
}
