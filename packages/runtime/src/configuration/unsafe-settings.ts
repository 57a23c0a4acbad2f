import type { Secret } from './secret.js'

/** The settings of every service that can be unsafe together. */
export interface GuardedSettings {
  readonly ENVIRONMENT: 'production' | 'development'
  readonly REPLICA_COUNT: number
  readonly REDIS_URL?: Secret | undefined
  readonly GRPC_REFLECTION: boolean
  readonly RATE_LIMITS?: boolean | undefined
  readonly TRUSTED_PROXIES?: number | readonly string[] | undefined
}

/**
 * Finds settings that no service may start with: replicas that share nothing and, in production, URLs that are not https,
 * gRPC reflection, or limits that would count everyone behind a proxy as one.
 *
 * @param publicUrls names of the settings with URLs to which browsers or clients are sent; unset ones are skipped
 * @returns one sentence per problem, for a ConfigurationError
 */
export function findUnsafeSettings<Name extends string>(
  config: GuardedSettings & Readonly<Partial<Record<Name, string | undefined>>>,
  publicUrls: readonly Name[]
): string[] {
  const problems: string[] = []
  if (config.REPLICA_COUNT > 1 && config.REDIS_URL === undefined) {
    problems.push(
      'REDIS_URL: must be set when REPLICA_COUNT is above 1: replicas share what may be used only once'
    )
  }
  if (config.ENVIRONMENT !== 'production') return problems
  for (const name of publicUrls) {
    const url = config[name]
    if (url !== undefined && new URL(url).protocol !== 'https:') {
      problems.push(`${name}: must be an https URL in production`)
    }
  }
  if (config.GRPC_REFLECTION) problems.push('GRPC_REFLECTION: must be false in production')
  if (config.RATE_LIMITS !== false && config.TRUSTED_PROXIES === undefined) {
    problems.push(
      'TRUSTED_PROXIES: must be set in production: the networks of the proxies in front, or 0 where there are none. Else all requests through a proxy would be limited as if they came from one address'
    )
  }
  return problems
}
