import { findUnsafeConnection } from '@open-payments-server/grpc-transport'
import {
  ConfigurationError,
  findUnsafeSettings,
  findWeakSecrets
} from '@open-payments-server/runtime/configuration'
import { type WebConfig, webSchema } from './config.js'

/**
 * Refuses settings that are each well-formed but unsafe together.
 *
 * @throws ConfigurationError saying what to change
 */
export function refuseUnsafeStart(config: WebConfig): void {
  const isProduction = config.ENVIRONMENT === 'production'
  // Nothing is counted here; the services behind do.
  const problems = findUnsafeSettings({ ...config, RATE_LIMITS: false }, ['ISSUER', 'CONSOLE_ISSUER'])
  for (const name of ['PUBLIC_URL', 'CONSOLE_URL'] as const) {
    const origins = config[name] ?? []
    if (origins.length > 1) problems.push(`${name}: must be one origin`)
    if (isProduction && origins.some((origin) => !origin.startsWith('https:')))
      problems.push(`${name}: must be an https URL in production`)
  }
  problems.push(
    ...findUnsafeConnection(config, 'RESOURCE', 'resource server'),
    ...findUnsafeConnection(config, 'AUTH', 'auth server')
  )
  if (config.CONSOLE_PORT !== undefined) {
    for (const name of ['CONSOLE_URL', 'CONSOLE_CLIENT_ID'] as const)
      if (config[name] === undefined) problems.push(`${name}: must be set when CONSOLE_PORT is`)
  }
  if (isProduction) problems.push(...findWeakSecrets(webSchema, config))
  if (problems.length > 0) throw new ConfigurationError(problems)
}
