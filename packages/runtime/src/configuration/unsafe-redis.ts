import type { RedisSettings } from './redis-settings.js'
import { splitRedisUrl } from './redis-url.js'
import { isThisMachine } from './this-machine.js'

const OF_SENTINELS = ['REDIS_SENTINEL_NAME', 'REDIS_SENTINEL_USERNAME', 'REDIS_SENTINEL_PASSWORD'] as const

/**
 * Finds settings of Redis that contradict each other.
 *
 * @returns one sentence per problem, for a ConfigurationError
 */
export function findRedisContradictions(config: RedisSettings): string[] {
  const { REDIS_TOPOLOGY: topology } = config
  const urls = (config.REDIS_URL && splitRedisUrl(config.REDIS_URL.reveal())) ?? []
  const problems: string[] = []
  if (topology === 'single' && urls.length > 1) {
    problems.push('REDIS_TOPOLOGY: must say what the hosts of REDIS_URL are, sentinel or cluster')
  }
  if (topology !== 'single' && config.REDIS_URL === undefined) {
    problems.push(`REDIS_URL: required with REDIS_TOPOLOGY ${topology}`)
  }
  if (topology === 'sentinel' && config.REDIS_SENTINEL_NAME === undefined) {
    problems.push('REDIS_SENTINEL_NAME: required with REDIS_TOPOLOGY sentinel')
  }
  for (const name of topology === 'sentinel' ? [] : OF_SENTINELS) {
    if (config[name] !== undefined) problems.push(`${name}: only with REDIS_TOPOLOGY sentinel`)
  }
  const [{ pathname } = { pathname: '' }] = urls.map((url) => new URL(url))
  if (topology !== 'single' && !/^\/?\d*$/.test(pathname)) {
    problems.push('REDIS_URL: must end with the number of a database, or with its hosts')
  }
  if (topology === 'cluster' && Number(pathname.slice(1)) !== 0) {
    problems.push('REDIS_URL: must name no database but 0: a cluster has no other')
  }
  return problems
}

/** Whether Redis is reached in plain text; what sentinels and nodes of a cluster name may be anywhere. */
export function isRedisPlain({ REDIS_URL, REDIS_TOPOLOGY }: RedisSettings): boolean {
  const urls = (REDIS_URL && splitRedisUrl(REDIS_URL.reveal())) ?? []
  return urls
    .map((url) => new URL(url))
    .some(
      ({ protocol, hostname }) =>
        protocol !== 'rediss:' && (REDIS_TOPOLOGY !== 'single' || !isThisMachine(hostname))
    )
}
