import { type RedisProcess, type RedisTls, settled, startRedisProcess } from './redis-processes.js'

const REPLICAS = 2
const SENTINELS = 3
const QUORUM = 2
const NAME = 'wallet'

/** How the servers and sentinels are run. */
export interface RedisSentinelsOptions {
  /** After how long a silent primary is replaced, in milliseconds; default a second. */
  readonly downAfterMs?: number
  /** Password of the servers. */
  readonly password?: string
  /** Password of the sentinels. */
  readonly sentinelPassword?: string
  /** For all of them; in plain text without. */
  readonly tls?: RedisTls
}

/** A primary, two replicas and three sentinels on this machine. */
export interface RedisSentinels {
  /** A URL for each sentinel, with the password of the servers. */
  readonly urls: readonly [string, ...string[]]
  /** The same in one, as `REDIS_URL` has it. */
  readonly url: string
  readonly sentinelPassword: string | undefined
  /** What the sentinels call the primary. */
  readonly name: string
  readonly servers: readonly RedisProcess[]
  readonly sentinels: readonly RedisProcess[]
  /** The server that most sentinels name. */
  primary(): Promise<RedisProcess>
  /** Resolves once most sentinels name another one. */
  replaced(primary: RedisProcess): Promise<void>
  /** Resolves once every sentinel knows all servers, and every replica follows the primary. */
  whole(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts them with the `redis-server` on the PATH, without persistence.
 *
 * @throws Error when there is none
 */
export async function startRedisSentinels(options: RedisSentinelsOptions = {}): Promise<RedisSentinels> {
  const { downAfterMs = 1_000, password, sentinelPassword, tls } = options
  const of = (lines: readonly string[]): string[] => [
    'save ""',
    'repl-diskless-sync-delay 0',
    ...(password === undefined ? [] : [`requirepass ${password}`, `masterauth ${password}`]),
    ...lines
  ]
  const first = await startRedisProcess('server', of([]), { password, tls })
  const follow = [`replicaof 127.0.0.1 ${String(first.port)}`]
  const servers = [
    first,
    ...(await Promise.all(
      Array.from({ length: REPLICAS }, () => startRedisProcess('server', of(follow), { password, tls }))
    ))
  ]
  const watching = [
    `sentinel monitor ${NAME} 127.0.0.1 ${String(first.port)} ${String(QUORUM)}`,
    `sentinel down-after-milliseconds ${NAME} ${String(downAfterMs)}`,
    `sentinel failover-timeout ${NAME} 10000`,
    `sentinel parallel-syncs ${NAME} ${String(REPLICAS)}`,
    ...(password === undefined ? [] : [`sentinel auth-pass ${NAME} ${password}`]),
    ...(sentinelPassword === undefined
      ? []
      : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`])
  ]
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, () =>
      startRedisProcess('sentinel', watching, { password: sentinelPassword, tls })
    )
  )
  const seen = looking(servers, sentinels)
  await seen.whole()
  const start = `${tls === undefined ? 'redis' : 'rediss'}://${password === undefined ? '' : `:${password}@`}`
  const [host = '', ...hosts] = sentinels.map(({ port }) => `127.0.0.1:${String(port)}`)
  return {
    urls: [`${start}${host}`, ...hosts.map((other) => `${start}${other}`)],
    url: `${start}${[host, ...hosts].join(',')}`,
    sentinelPassword,
    name: NAME,
    servers,
    sentinels,
    ...seen,
    async stop() {
      await Promise.all(sentinels.map((one) => one.stop()))
      await Promise.all(servers.map((one) => one.stop()))
    }
  }
}

/** What the sentinels say of the servers. */
function looking(
  servers: readonly RedisProcess[],
  sentinels: readonly RedisProcess[]
): Pick<RedisSentinels, 'primary' | 'replaced' | 'whole'> {
  const primary = async (): Promise<RedisProcess> => {
    const named = await Promise.all(
      sentinels.map((one) => one.ask('SENTINEL', 'get-master-addr-by-name', NAME).catch(() => ''))
    )
    const found = servers.find(
      ({ port }) => named.filter((answer) => answer.includes(`\n${String(port)}\r`)).length >= QUORUM
    )
    if (found === undefined) throw new Error('the sentinels name no primary')
    return found
  }
  const whole = async (): Promise<void> => {
    await settled('every sentinel knows all', async () => {
      const { port } = await primary()
      const told = await Promise.all(sentinels.map((one) => one.ask('INFO', 'sentinel')))
      const all = `status=ok,address=127.0.0.1:${String(port)},slaves=${String(REPLICAS)},sentinels=${String(SENTINELS)}`
      return told.every((answer) => answer.includes(all))
    })
    await settled('the replicas follow', async () => {
      const answer = await (await primary()).ask('INFO', 'replication')
      return answer.match(/state=online/g)?.length === REPLICAS
    })
  }
  const replaced = (former: RedisProcess): Promise<void> =>
    settled('the sentinels name another primary', async () => (await primary()) !== former)
  return { primary, replaced, whole }
}
