import { findUnsafeConnection } from '@open-payments-server/grpc-transport'
import {
  ConfigurationError,
  findUnsafeSettings,
  findWeakSecrets
} from '@open-payments-server/runtime/configuration'
import { LISTENER_SETTINGS, type WebConfig, webSchema } from './config.js'

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
  problems.push(...findHalfListeners(config))
  if (isProduction) problems.push(...findWeakSecrets(webSchema, config))
  if (problems.length > 0) throw new ConfigurationError(problems)
}

/** Listeners that lack what they need, and settings that are of no use because there is no listener that has them. */
function findHalfListeners(config: WebConfig): string[] {
  const problems: string[] = []
  const [pages, console] = [LISTENER_SETTINGS.pages, LISTENER_SETTINGS.console]
  for (const { needed } of [pages, console]) {
    const [first, ...others] = needed
    if (config[first] === undefined) continue
    for (const name of others)
      if (config[name] === undefined) problems.push(`${name}: must be set when ${first} is`)
  }
  if (config.PUBLIC_URL !== undefined) return problems
  // Else a PUBLIC_URL that was forgotten would leave account holders without pages.
  const given = pages.needed.find((name) => config[name] !== undefined)
  if (given !== undefined) problems.push(`PUBLIC_URL: must be set when ${given} is`)
  else if (config.CONSOLE_PORT === undefined)
    problems.push('PUBLIC_URL: must be set, or CONSOLE_PORT for a console alone')
  return problems
}
