import type { IssuerKeys } from '@open-payments-server/service-kit/issuers'
import { createSignInRule, parseSignInFrom } from '../domain/sign-in-rule.js'
import type { AcceptGrantDependencies } from '../features/accept-grant/accept-grant.js'
import {
  createIdTokenVerifier,
  createOwnershipVerifier,
  parseIssuers,
  parseOwnershipKeys
} from '../modules/issuers/index.js'
import type { Context } from './context.js'

/** How consent is proved. */
export type ConsentProofs = Pick<
  AcceptGrantDependencies,
  'consentProof' | 'idTokens' | 'ownerships' | 'signInRule' | 'toleranceSeconds'
>

/**
 * Opens what verifies proofs of consent.
 *
 * @param keys those of every issuer
 */
export function openConsentProofs(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  keys: IssuerKeys
): ConsentProofs {
  const issuers = parseIssuers(config.CONSENT_ISSUERS)
  const toleranceSeconds = config.CONSENT_CLOCK_TOLERANCE_SECONDS
  return {
    consentProof: config.CONSENT_PROOF ?? 'either',
    toleranceSeconds,
    signInRule: createSignInRule(parseSignInFrom(config.CONSENT_SIGN_IN_FROM), {
      ageMaxSeconds: config.CONSENT_SIGN_IN_AGE_MAX_SECONDS,
      acrValues: (config.CONSENT_SIGN_IN_ACR_VALUES ?? '').split(/\s+/).filter((value) => value !== '')
    }),
    idTokens: createIdTokenVerifier({
      issuers,
      keys,
      clock,
      ageMaxSeconds: config.CONSENT_ID_TOKEN_AGE_MAX_SECONDS,
      toleranceSeconds
    }),
    ownerships: createOwnershipVerifier({
      keys: parseOwnershipKeys(config.OWNERSHIP_PUBLIC_KEYS),
      audience: config.PUBLIC_URL,
      clock,
      toleranceSeconds
    })
  }
}
