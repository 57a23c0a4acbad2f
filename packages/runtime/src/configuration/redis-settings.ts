import { splitRedisUrl } from './redis-url.js'

/** The settings of Redis. */
export interface RedisSettings {
  readonly REDIS_URL?: { reveal(): string } | undefined
  readonly REDIS_TOPOLOGY: 'single' | 'sentinel' | 'cluster'
  readonly REDIS_SENTINEL_NAME?: string | undefined
  readonly REDIS_SENTINEL_USERNAME?: string | undefined
  readonly REDIS_SENTINEL_PASSWORD?: { reveal(): string } | undefined
}

/** Where the settings say that Redis is: a URL for each host, and what the sentinels call the primary and require themselves. */
export interface PlaceOfRedis {
  readonly topology: RedisSettings['REDIS_TOPOLOGY']
  readonly urls: readonly [string, ...string[]]
  readonly sentinel?: {
    readonly name: string
    readonly username: string | undefined
    readonly password: string | undefined
  }
}

/** Where the settings say that Redis is; undefined for none. */
export function redisPlaceOf(settings: RedisSettings): PlaceOfRedis | undefined {
  const urls = settings.REDIS_URL && splitRedisUrl(settings.REDIS_URL.reveal())
  if (urls === undefined) return undefined
  const { REDIS_TOPOLOGY: topology, REDIS_SENTINEL_NAME: name, REDIS_SENTINEL_USERNAME: username } = settings
  if (name === undefined) return { topology, urls }
  return {
    topology,
    urls,
    sentinel: { name, username, password: settings.REDIS_SENTINEL_PASSWORD?.reveal() }
  }
}
