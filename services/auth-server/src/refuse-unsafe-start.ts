import { ConfigurationError, findUnsafeSettings, findWeakSecrets } from '@open-payments-server/configuration'
import { type AuthServerConfig, authServerSchema } from './config.js'
import { parseConfiguredInteraction } from './domain/access.js'

/**
 * Refuses settings that are each well-formed and together unsafe.
 *
 * @throws ConfigurationError saying what to change
 */
export function refuseUnsafeStart(config: AuthServerConfig): void {
  const problems = findUnsafeSettings(config, ['PUBLIC_URL', 'CONSENT_PAGE_URL'])
  if (config.ENVIRONMENT === 'production') problems.push(...findWeakSecrets(authServerSchema, config))
  try {
    parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR)
  } catch (error) {
    problems.push((error as Error).message)
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
}
