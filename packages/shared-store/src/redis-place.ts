import type { RedisOptions } from 'ioredis'

/** What the hosts of a Redis are: the one server, the sentinels that watch several, or nodes of a cluster. */
export type RedisTopology = 'single' | 'sentinel' | 'cluster'

/** Where Redis is. */
export interface RedisPlace {
  readonly topology: RedisTopology
  /**
   * A URL for each host: `redis://` or `rediss://` (TLS), with the user and the password of the servers if they require them.
   * Servers that sentinels or nodes name are reached in the same way.
   */
  readonly urls: readonly [string, ...string[]]
  /** For `sentinel`: what the sentinels call the primary, and what they themselves require. */
  readonly sentinel?: {
    readonly name: string
    readonly username?: string | undefined
    readonly password?: string | undefined
  }
}

/** Host and port. */
export interface RedisAddress {
  readonly host: string
  readonly port: number
}

/** Of a server, unless its URL has another one. */
export const REDIS_PORT = 6_379
const SENTINEL_PORT = 26_379

/** The one server at a URL. */
export function singleRedis(url: string): RedisPlace {
  return { topology: 'single', urls: [url] }
}

/** The addresses of the hosts. */
export function addressesOf({ topology, urls }: RedisPlace): RedisAddress[] {
  const defaultPort = topology === 'sentinel' ? SENTINEL_PORT : REDIS_PORT
  return urls.map((url) => {
    const { hostname, port } = new URL(url)
    const host = hostname === '' ? 'localhost' : hostname.replace(/^\[(.*)\]$/, '$1')
    return { host, port: port === '' ? defaultPort : Number(port) }
  })
}

/** What every server requires, whoever names it: user, password, database and TLS. */
export function credentialsOf({
  urls: [url]
}: RedisPlace): Pick<RedisOptions, 'username' | 'password' | 'db' | 'tls'> {
  const { protocol, username, password, pathname } = new URL(url)
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
    ...(protocol === 'rediss:' ? { tls: {} } : {})
  }
}
