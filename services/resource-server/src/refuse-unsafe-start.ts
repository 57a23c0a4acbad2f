import { ConfigurationError, findUnsafeSettings, findWeakSecrets } from '@open-payments-server/configuration'
import { type ResourceServerConfig, resourceServerSchema } from './config.js'

/** What an ILP address may be (published API): with the payment's own segment behind it, at most 1,023 characters. */
const ILP_ADDRESS = /^(?=.{1,900}$)(?:g|private|example|peer|self|test[1-3]?|local)(?:\.[a-zA-Z0-9_~-]+)+$/

/**
 * Refuses settings that are each well-formed and together unsafe, or that would only fail later.
 *
 * @throws ConfigurationError saying what to change
 */
export function refuseUnsafeStart(config: ResourceServerConfig): void {
  const problems = findUnsafeSettings(config, ['PUBLIC_URL', 'AUTH_SERVER_URL', 'WALLET_ADDRESS_PAGE_URL'])
  if (config.ENVIRONMENT === 'production') problems.push(...findWeakSecrets(resourceServerSchema, config))
  if (!ILP_ADDRESS.test(config.ILP_ADDRESS)) {
    problems.push('ILP_ADDRESS: must be an ILP address such as g.example.wallet or test.wallet')
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
}
