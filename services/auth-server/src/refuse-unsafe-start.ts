import { ConfigurationError, findUnsafeSettings } from '@open-payments-server/configuration'
import type { AuthServerConfig } from './config.js'
import { parseConfiguredInteraction } from './domain/access.js'

/**
 * Refuses settings that are each well-formed and together unsafe.
 *
 * @throws ConfigurationError saying what to change
 */
export function refuseUnsafeStart(config: AuthServerConfig): void {
  const problems = findUnsafeSettings(config, ['PUBLIC_URL', 'CONSENT_PAGE_URL'])
  try {
    parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR)
  } catch (error) {
    problems.push((error as Error).message)
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
}
