import {
  ConfigurationError,
  findUnsafeGrpcListener,
  findUnsafeSettings,
  findWeakSecrets
} from '@open-payments-server/runtime/configuration'
import { findUnsafeOperators, parseOperatorIssuers } from '@open-payments-server/service-kit/operators'
import { type AuthServerConfig, authServerSchema } from './config.js'
import { parseConfiguredInteraction } from './domain/access.js'
import { parseSignInFrom } from './domain/sign-in-rule.js'
import { parseIssuers, parseOwnershipKeys } from './modules/issuers/index.js'

/** Who may call what over gRPC. */
const GRPC_CLIENT_LISTS = [
  'GRPC_INTROSPECTION_CLIENTS',
  'GRPC_LIMITS_CLIENTS',
  'GRPC_OPERATOR_CLIENTS'
] as const

/**
 * Refuses settings that are each well-formed but unsafe together.
 *
 * @throws ConfigurationError saying what to change
 */
export function refuseUnsafeStart(config: AuthServerConfig): void {
  const problems = findUnsafeSettings(config, ['PUBLIC_URL', 'CONSENT_PAGE_URL'])
  if (config.ENVIRONMENT === 'production') problems.push(...findWeakSecrets(authServerSchema, config))
  problems.push(...findUnsafeGrpcListener(config, GRPC_CLIENT_LISTS))
  problems.push(...findUnsafeOperators(config))
  if (config.INTERACTION_REFERENCE_LIFETIME_SECONDS <= config.CONTINUATION_WAIT_SECONDS) {
    problems.push(
      'INTERACTION_REFERENCE_LIFETIME_SECONDS: must be longer than CONTINUATION_WAIT_SECONDS, or clients that wait come too late'
    )
  }
  try {
    parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR)
  } catch (error) {
    problems.push((error as Error).message)
  }
  problems.push(...findUnsafeConsent(config))
  if (problems.length === 0) problems.push(...findSharedClients(config))
  if (problems.length > 0) throw new ConfigurationError(problems)
}

/** Settings with which consent would be proved by nobody, or by anybody. */
function findUnsafeConsent(config: AuthServerConfig): string[] {
  const { CONSENT_PROOF: proof, CONSENT_ISSUERS: issuers, OWNERSHIP_PUBLIC_KEYS: keys } = config
  const problems: string[] = []
  const isProduction = config.ENVIRONMENT === 'production'
  if (isProduction && proof === undefined)
    problems.push('CONSENT_PROOF: must be set in production: required, or none')
  if (proof === 'required' && issuers === undefined)
    problems.push('CONSENT_ISSUERS: required with CONSENT_PROOF=required')
  if (proof === 'required' && keys === undefined)
    problems.push('OWNERSHIP_PUBLIC_KEYS: required with CONSENT_PROOF=required')
  try {
    const isPlain = [...parseIssuers(issuers).keys()].some((issuer) => issuer.startsWith('http:'))
    if (isProduction && isPlain) problems.push('CONSENT_ISSUERS: must have https URLs in production')
    parseOwnershipKeys(keys)
    parseSignInFrom(config.CONSENT_SIGN_IN_FROM)
  } catch (error) {
    problems.push((error as Error).message)
  }
  return problems
}

/** Clients whose ID tokens would be good for two things: whoever gets one as a consent page could operate with it. */
function findSharedClients(config: AuthServerConfig): string[] {
  const consent = parseIssuers(config.CONSENT_ISSUERS)
  return [...parseOperatorIssuers(config.OPERATOR_ISSUERS)].flatMap(([issuer, { clientIds }]) =>
    clientIds
      .filter((client) => consent.get(issuer)?.includes(client))
      .map((client) => `OPERATOR_ISSUERS: ${client} of ${issuer} is a client of CONSENT_ISSUERS too`)
  )
}
