import { ConfigurationError } from '@open-payments-server/configuration'
import type { AuthServerConfig } from './config.js'
import { parseConfiguredInteraction } from './domain/access.js'

/**
 * Refuses settings that are each well-formed and together unsafe.
 *
 * @throws ConfigurationError saying what to change
 */
export function refuseUnsafeStart(config: AuthServerConfig): void {
  const problems: string[] = []
  if (config.REPLICA_COUNT > 1 && config.REDIS_URL === undefined) {
    problems.push(
      'REDIS_URL: must be set when REPLICA_COUNT is above 1: replicas share single-use marks and revocations'
    )
  }
  if (config.ENVIRONMENT === 'production') {
    if (config.GRPC_REFLECTION) problems.push('GRPC_REFLECTION: must be false in production')
    for (const name of ['PUBLIC_URL', 'CONSENT_PAGE_URL'] as const) {
      if (new URL(config[name]).protocol !== 'https:')
        problems.push(`${name}: must be an https URL in production`)
    }
  }
  try {
    parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR)
  } catch (error) {
    problems.push((error as Error).message)
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
}
