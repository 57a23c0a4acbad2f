import {
  ConfigurationError,
  findPlaintext,
  findUnsafeSettings,
  findWeakSecrets
} from '@open-payments-server/runtime/configuration'
import { isLoopbackHost } from '@open-payments-server/runtime'
import { AUTH_GRPC_TLS, RESOURCE_GRPC_TLS, type WebConfig, webSchema } from './config.js'

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
    ...findPlaintext(config, Object.values(RESOURCE_GRPC_TLS), {
      setting: 'RESOURCE_GRPC_TARGET',
      isLoopback: isLoopbackTarget(config.RESOURCE_GRPC_TARGET)
    }),
    ...findPlaintext(config, Object.values(AUTH_GRPC_TLS), {
      setting: 'AUTH_GRPC_TARGET',
      isLoopback: isLoopbackTarget(config.AUTH_GRPC_TARGET)
    })
  )
  problems.push(
    ...findPlaintext(config, Object.values(AUTH_GRPC_TLS), {
      setting: 'AUTH_GRPC_TARGET',
      isLoopback: isLoopbackTarget(config.AUTH_GRPC_TARGET)
    })
  )
  if (config.CONSOLE_PORT !== undefined) {
    for (const name of ['CONSOLE_URL', 'CONSOLE_CLIENT_ID'] as const)
      if (config[name] === undefined) problems.push(`${name}: must be set when CONSOLE_PORT is`)
  }
  if (isProduction) problems.push(...findWeakSecrets(webSchema, config))
  if (problems.length > 0) throw new ConfigurationError(problems)
}

function isLoopbackTarget(target: string): boolean {
  const [host = ''] = target.replace(/^(?:dns:\/\/\/|ipv4:|ipv6:)/, '').split(/:\d+$/)
  return isLoopbackHost(host)
}
