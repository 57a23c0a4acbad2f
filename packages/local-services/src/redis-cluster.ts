import { type RedisProcess, type RedisTls, settled, startRedisProcess } from './redis-processes.js'

const PRIMARIES = 3
const SLOTS = 16_384

/** How the nodes are run. */
export interface RedisClusterOptions {
  /** After how long a silent node is given up, in milliseconds; default a second. */
  readonly nodeTimeoutMs?: number
  /** For all of them; in plain text without. */
  readonly tls?: RedisTls
}

/** Three primaries on this machine, each with a replica. */
export interface LocalRedisCluster {
  /** A URL for each node. */
  readonly urls: readonly [string, ...string[]]
  /** The same in one, as `REDIS_URL` has it. */
  readonly url: string
  readonly nodes: readonly RedisProcess[]
  /** The nodes that are primaries, as the first one that answers has it. */
  primaries(): Promise<RedisProcess[]>
  /** Resolves once another node has the place of a primary. */
  replaced(primary: RedisProcess): Promise<void>
  /** Resolves once all nodes that run serve together, and every primary has its replica. */
  whole(): Promise<void>
  /** A replica of a primary. */
  replicaOf(primary: RedisProcess): Promise<RedisProcess>
  stop(): Promise<void>
}

/**
 * Starts them with the `redis-server` on the PATH, without persistence.
 *
 * @throws Error when there is none
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<LocalRedisCluster> {
  const { nodeTimeoutMs = 1_000, tls } = options
  const lines = [
    'save ""',
    'repl-diskless-sync-delay 0',
    'cluster-enabled yes',
    `cluster-node-timeout ${String(nodeTimeoutMs)}`,
    'cluster-replica-validity-factor 0'
  ]
  const nodes = await Promise.all(
    Array.from({ length: 2 * PRIMARIES }, () => startRedisProcess('server', lines, { tls }))
  )
  const primaries = nodes.slice(0, PRIMARIES)
  await join(nodes, primaries)
  const rows = async (): Promise<string[][]> => {
    for (const node of nodes) {
      const answer = await node.ask('CLUSTER', 'NODES').catch(() => '')
      if (answer.includes('myself')) return answer.split('\n').map((row) => row.trim().split(' '))
    }
    throw new Error('no node answers')
  }
  const found = (row: readonly string[] | undefined): RedisProcess => {
    const node = nodes.find(({ port }) => row?.[1]?.includes(`:${String(port)}@`))
    if (node === undefined) throw new Error('there is no such node')
    return node
  }
  const serving = async (): Promise<RedisProcess[]> =>
    (await rows()).filter(([, , flags, , , , , , slots]) => isServing(flags, slots)).map(found)
  const scheme = tls === undefined ? 'redis' : 'rediss'
  const [host = '', ...hosts] = nodes.map(({ port }) => `127.0.0.1:${String(port)}`)
  return {
    urls: [`${scheme}://${host}`, ...hosts.map((other) => `${scheme}://${other}`)],
    url: `${scheme}://${[host, ...hosts].join(',')}`,
    nodes,
    whole: () => serves(nodes),
    primaries: serving,
    replaced: (primary) =>
      settled('another node is the primary', async () => {
        const now = await serving()
        return now.length === PRIMARIES && !now.includes(primary)
      }),
    async replicaOf(primary) {
      const id = (await primary.ask('CLUSTER', 'MYID')).split('\r\n')[1]
      return found((await rows()).find((row) => row[3] === id))
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
    }
  }
}

function isServing(flags: string | undefined, slots: string | undefined): boolean {
  return flags?.includes('master') === true && !flags.includes('fail') && slots !== undefined
}

/** Makes the nodes one cluster, of which the first are the primaries. */
async function join(nodes: readonly RedisProcess[], primaries: readonly RedisProcess[]): Promise<void> {
  const [first] = nodes
  for (const node of nodes) {
    if (node !== first) await first?.ask('CLUSTER', 'MEET', '127.0.0.1', String(node.port))
  }
  for (const [at, node] of primaries.entries()) {
    const from = Math.floor((at * SLOTS) / PRIMARIES)
    const to = Math.floor(((at + 1) * SLOTS) / PRIMARIES) - 1
    await node.ask('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1))
  }
  await settled('every node knows the others', async () => {
    const told = await Promise.all(nodes.map((node) => node.ask('CLUSTER', 'INFO')))
    return told.every((answer) => answer.includes(`cluster_known_nodes:${String(nodes.length)}`))
  })
  for (const [at, node] of nodes.slice(PRIMARIES).entries()) {
    const id = (await primaries[at]?.ask('CLUSTER', 'MYID'))?.split('\r\n')[1] ?? ''
    await settled('a replica knows its primary', async () =>
      (await node.ask('CLUSTER', 'REPLICATE', id)).includes('OK')
    )
  }
  await serves(nodes)
}

/** Waits until the nodes serve together, and every primary has its replica. */
async function serves(nodes: readonly RedisProcess[]): Promise<void> {
  await settled('the cluster serves', async () => {
    const states = await Promise.all(nodes.map((node) => node.ask('CLUSTER', 'INFO')))
    const roles = await Promise.all(nodes.map((node) => node.ask('INFO', 'replication')))
    return (
      states.every(
        (state) => state.includes('cluster_state:ok') && state.includes('cluster_slots_ok:16384')
      ) && roles.filter((role) => role.includes('state=online')).length === PRIMARIES
    )
  })
}
