import { splitDatabaseUrl } from './database-url.js'
import type { RedisSettings } from './redis-settings.js'
import type { Secret } from './secret.js'
import { isThisMachine } from './this-machine.js'
import { findRedisContradictions, isRedisPlain } from './unsafe-redis.js'

/** The settings of every service that can be unsafe together. */
export interface GuardedSettings extends RedisSettings {
  readonly ENVIRONMENT: 'production' | 'development'
  readonly REPLICA_COUNT: number
  /** Absent for a service without a database. */
  readonly DATABASE_URL?: Secret | undefined
  readonly DATABASE_DURABILITY?: string | undefined
  /** Absent for a service without a gRPC listener. */
  readonly GRPC_REFLECTION?: boolean | undefined
  readonly RATE_LIMITS?: boolean | undefined
  readonly TRUSTED_PROXIES?: number | readonly string[] | undefined
}

/**
 * Finds settings that no service may start with: replicas that share nothing, settings of Redis that contradict each other and, in
 * production, URLs that are not https, stores that are reached in plain text, gRPC reflection, limits that would count everyone behind
 * a proxy as one, or nobody having decided what is lost with the database.
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
  problems.push(...findRedisContradictions(config))
  if (config.ENVIRONMENT !== 'production') return problems
  for (const name of publicUrls) {
    const url = config[name]
    if (url !== undefined && new URL(url).protocol !== 'https:') {
      problems.push(`${name}: must be an https URL in production`)
    }
  }
  problems.push(...findPlainStores(config))
  if (config.DATABASE_URL !== undefined && config.DATABASE_DURABILITY === undefined) {
    problems.push(
      'DATABASE_DURABILITY: must be set in production: synchronous, platform, or accept-loss where payments may be lost with the database'
    )
  }
  if (config.GRPC_REFLECTION === true) problems.push('GRPC_REFLECTION: must be false in production')
  if (config.RATE_LIMITS !== false && config.TRUSTED_PROXIES === undefined) {
    problems.push(
      'TRUSTED_PROXIES: must be set in production: the networks of the proxies in front, or 0 where there are none. Else all requests through a proxy would be limited as if they came from one address'
    )
  }
  return problems
}

function findPlainStores(config: GuardedSettings): string[] {
  const databases = (splitDatabaseUrl(config.DATABASE_URL?.reveal() ?? '') ?? []).map((url) => new URL(url))
  const isPlain = databases.some(
    ({ hostname, searchParams }) => !isThisMachine(hostname) && searchParams.get('sslmode') !== 'verify-full'
  )
  const problems = isPlain
    ? [
        'DATABASE_URL: must end with sslmode=verify-full in production, unless the database is on this machine'
      ]
    : []
  if (isRedisPlain(config)) {
    problems.push('REDIS_URL: must be a rediss URL in production, unless Redis is one server on this machine')
  }
  return problems
}
