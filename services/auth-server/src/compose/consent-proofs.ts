import { createSafeHttpClient } from '@open-payments-server/http-client'
import { createSignInRule, parseSignInFrom } from '../domain/sign-in-rule.js'
import type { AcceptGrantDependencies } from '../features/accept-grant/accept-grant.js'
import {
  createIdTokenVerifier,
  createIssuerKeys,
  createOwnershipVerifier,
  parseIssuers,
  parseOwnershipKeys
} from '../modules/issuers/index.js'
import type { Context } from './context.js'

/** Maximum duration of fetching a document of an issuer, in milliseconds. */
const FETCH_TIMEOUT_MS = 3_000
/** Maximum size of a document of an issuer, in bytes. */
const FETCHED_BYTES_MAX = 131_072

/** How consent is proved. */
export type ConsentProofs = Pick<
  AcceptGrantDependencies,
  'consentProof' | 'idTokens' | 'ownerships' | 'signInRule' | 'toleranceSeconds'
>

/** Opens what verifies proofs of consent. */
export function openConsentProofs({ config, logger, lifecycle, clock }: Context): ConsentProofs {
  const issuers = parseIssuers(config.CONSENT_ISSUERS)
  const toleranceSeconds = config.CONSENT_CLOCK_TOLERANCE_SECONDS
  // An operator names the issuers, which may be in a private network. Nobody else can choose what is fetched.
  const httpClient = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: FETCH_TIMEOUT_MS,
    bodyBytesMax: FETCHED_BYTES_MAX,
    userAgent: 'open-payments-server'
  })
  lifecycle.add({ name: 'connections to issuers', stop: () => httpClient.close() })
  const keys = createIssuerKeys({
    httpClient,
    clock,
    logger,
    allowHttp: config.ENVIRONMENT === 'development'
  })
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
