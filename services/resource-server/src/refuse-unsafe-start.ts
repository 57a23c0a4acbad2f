import { findUnsafeConnection } from '@open-payments-server/grpc-transport'
import {
  ConfigurationError,
  findUnsafeGrpcListener,
  findUnsafeSettings,
  findWeakSecrets
} from '@open-payments-server/runtime/configuration'
import { findUnsafeOperators } from '@open-payments-server/service-kit/operators'
import { type ResourceServerConfig, resourceServerSchema } from './config.js'

/** Allowed ILP addresses (published API): with the payment's own segment appended, at most 1,023 characters. */
const ILP_ADDRESS = /^(?=.{1,900}$)(?:g|private|example|peer|self|test[1-3]?|local)(?:\.[a-zA-Z0-9_~-]+)+$/

const SECONDS_PER_DAY = 86_400

/** Claims that people may change about themselves, and that are not unique (OpenID Connect Core §5.7). */
const UNSTABLE_CLAIMS: readonly string[] = ['email', 'name', 'nickname', 'phone_number', 'preferred_username']

/**
 * Refuses settings that are each well-formed but unsafe together, or that would only fail later.
 *
 * @throws ConfigurationError saying what to change
 */
export function refuseUnsafeStart(config: ResourceServerConfig): void {
  const problems = findUnsafeSettings(config, [
    'PUBLIC_URL',
    'AUTH_SERVER_URL',
    'WALLET_ADDRESS_BASE_URL',
    'WALLET_ADDRESS_PAGE_URL'
  ])
  if (config.ENVIRONMENT === 'production') problems.push(...findWeakSecrets(resourceServerSchema, config))
  problems.push(
    ...findUnsafeGrpcListener(config, ['GRPC_OPERATOR_CLIENTS']),
    ...findUnsafeConnection(config, 'AUTH', 'auth server')
  )
  problems.push(...findUnsafeOperators(config))
  if (!ILP_ADDRESS.test(config.ILP_ADDRESS)) {
    problems.push('ILP_ADDRESS: must be an ILP address such as g.example.wallet or test.wallet')
  }
  // A receiver that expires while a payment to it awaits approval is deleted so much later.
  if (config.APPROVAL_TIMEOUT_SECONDS > config.PURGE_RETENTION_DAYS * SECONDS_PER_DAY) {
    problems.push('APPROVAL_TIMEOUT_SECONDS: must be at most PURGE_RETENTION_DAYS')
  }
  if (config.PROVIDER_KEYS !== undefined && config.PEER_SECRET_KEY === undefined) {
    problems.push('PEER_SECRET_KEY: required with PROVIDER_KEYS')
  }
  problems.push(...findUnsafeHolders(config))
  if (problems.length > 0) throw new ConfigurationError(problems)
}

/** Settings by which somebody could be taken for the holder of an account who is not. */
function findUnsafeHolders(config: ResourceServerConfig): string[] {
  const { HOLDER_CLAIM: claim, HOLDER_CLAIM_ISSUER: issuer, OWNERSHIP_KEYS: keys } = config
  const problems: string[] = []
  if (config.ENVIRONMENT === 'production' && keys !== undefined && config.GRPC_HOLDER_CLIENTS === undefined) {
    problems.push(
      'GRPC_HOLDER_CLIENTS: must be set in production with OWNERSHIP_KEYS: name the clients, as their certificates do'
    )
  }
  if (claim !== undefined && issuer === undefined)
    problems.push('HOLDER_CLAIM_ISSUER: required with HOLDER_CLAIM')
  if (issuer !== undefined && claim === undefined)
    problems.push('HOLDER_CLAIM: required with HOLDER_CLAIM_ISSUER')
  if (claim !== undefined && UNSTABLE_CLAIMS.includes(claim))
    problems.push('HOLDER_CLAIM: must be a claim that nobody can change about themselves')
  return problems
}
