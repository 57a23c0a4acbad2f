import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '@open-payments-server/acceptance'
import { findFreePort, findFreePorts } from '@open-payments-server/local-services'
import { type ClusterSettings, PatroniNode } from './patroni-node.js'
import { assertInstalled, makeFolder, Program, PROGRAMS } from './programs.js'

// Not `first`, which is a word of synchronous_standby_names.
const NAMES = ['north', 'south', 'west'] as const
/** How long a standby may fail to start before it is made anew, in milliseconds. */
const ANEW_AFTER_MS = 45_000
/** Maximum time until a cluster is whole again: a node may have to be copied anew. */
const WHOLE_WITHIN_MS = 180_000

/** A member of the cluster, as Patroni tells it. */
interface Member {
  readonly name: string
  readonly role: 'leader' | 'replica' | 'sync_standby'
  readonly state: string
  /** Undefined of one that does not run. */
  readonly timeline?: number
}

/** Three nodes of Patroni with synchronous replication, etcd, and HAProxy, which leads to the primary. */
export class PatroniCluster {
  readonly #parent: string
  readonly #settings: ClusterSettings
  readonly #haproxyPort: number
  readonly #nodes: readonly PatroniNode[]
  readonly #others: readonly Program[]

  private constructor(
    parent: string,
    settings: ClusterSettings,
    haproxyPort: number,
    nodes: readonly PatroniNode[],
    others: readonly Program[]
  ) {
    this.#parent = parent
    this.#settings = settings
    this.#haproxyPort = haproxyPort
    this.#nodes = nodes
    this.#others = others
  }

  /** Starts all of it; resolves when the cluster is whole. */
  static async start(timing: Pick<ClusterSettings, 'ttlSeconds' | 'loopSeconds'>): Promise<PatroniCluster> {
    await assertInstalled()
    const parent = await mkdtemp(join(await realpath(tmpdir()), 'patroni-'))
    await chmod(parent, 0o711)
    const [etcdPort, etcdPeerPort] = (await findFreePorts(2)) as [number, number]
    const settings = {
      ...timing,
      password: randomBytes(18).toString('hex'),
      etcdUrl: `http://127.0.0.1:${String(etcdPort)}`
    }
    const etcd = await startEtcd(parent, settings.etcdUrl, etcdPeerPort)
    const nodes: PatroniNode[] = []
    for (const name of NAMES) {
      const [postgres, rest] = (await findFreePorts(2)) as [number, number]
      nodes.push(await PatroniNode.create(name, parent, { postgres, rest }, settings))
    }
    const haproxyPort = await findFreePort()
    const haproxy = await startHaproxy(parent, haproxyPort, nodes)
    const cluster = new PatroniCluster(parent, settings, haproxyPort, nodes, [etcd, haproxy])
    try {
      for (const node of nodes) await node.start()
      await cluster.whenWhole()
    } catch (error) {
      const output = cluster.output
      await cluster.stop()
      throw new Error(`the cluster did not start:\n${output}`, { cause: error })
    }
    return cluster
  }

  /** URL of the primary through HAProxy, as its superuser. */
  get url(): string {
    return this.#urlOf(`127.0.0.1:${String(this.#haproxyPort)}`)
  }

  /**
   * The URL of a database with all nodes as hosts.
   *
   * @param url of it through HAProxy
   */
  onEveryHost(url: string): string {
    const hosts = this.#nodes.map(({ postgresHost }) => postgresHost).join(',')
    return `${url.replace(new URL(url).host, hosts)}?target_session_attrs=read-write`
  }

  get primary(): Promise<PatroniNode> {
    return this.#memberWith('leader')
  }

  get standby(): Promise<PatroniNode> {
    return this.#memberWith('sync_standby')
  }

  /** Makes the synchronous standby the primary, as an operator does before maintenance. */
  async switchOver(): Promise<void> {
    const [primary, standby] = [await this.primary, await this.standby]
    // eslint-disable-next-line no-restricted-globals -- what Patroni answers is not in the contract
    const answer = await fetch(`${primary.restUrl}switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: primary.name, candidate: standby.name })
    })
    if (answer.status !== 200)
      throw new Error(`no switchover: ${String(answer.status)} ${await answer.text()}`)
  }

  /**
   * Resolves when all nodes run, one of them as the primary, and one as its synchronous standby. A standby that cannot start, because
   * it has what its primary never had, is made anew, as an operator does.
   */
  async whenWhole(): Promise<void> {
    const madeAnew = new Set<string>()
    const anewFromMs = Date.now() + ANEW_AFTER_MS
    await eventually(
      'the cluster is whole',
      async () => {
        const members = await this.#members()
        for (const { name, state } of members) {
          if (state !== 'start failed' || madeAnew.has(name) || Date.now() < anewFromMs) continue
          madeAnew.add(name)
          await this.#makeAnew(name)
        }
        const roles = members
          .map(({ role }) => role)
          .sort()
          .join(' ')
        return (
          roles === 'leader replica sync_standby' &&
          members.every(({ state }) => /^(running|streaming)$/.test(state)) &&
          // One that has come back on the timeline of its own past is stopped once more, and rewound.
          new Set(members.map(({ timeline }) => timeline)).size === 1
        )
      },
      WHOLE_WITHIN_MS
    ).catch(async (error: unknown) => {
      const members = JSON.stringify(await this.#members())
      throw new Error(`the cluster is not whole: ${members}\n${this.output}`, { cause: error })
    })
  }

  /** `patronictl reinit`: takes all data from the primary. */
  async #makeAnew(name: string): Promise<void> {
    const node = this.#nodes.find((one) => one.name === name)
    if (node === undefined) throw new Error(`no node is called ${name}`)
    console.log(`${name} could not start, and is made anew`)
    // eslint-disable-next-line no-restricted-globals -- the same
    const answer = await fetch(`${node.restUrl}reinitialize`, {
      method: 'POST',
      body: JSON.stringify({ force: true })
    })
    if (answer.status !== 200)
      throw new Error(`${name} is not made anew: ${String(answer.status)} ${await answer.text()}`)
  }

  /** What its programs said last. */
  get output(): string {
    return [...this.#others, ...this.#nodes].map(({ output }) => output).join('\n')
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()))
    await Promise.all(this.#others.map((program) => program.kill()))
    await rm(this.#parent, { recursive: true, force: true })
  }

  #urlOf(host: string): string {
    return `postgresql://postgres:${this.#settings.password}@${host}/postgres`
  }

  async #memberWith(role: Member['role']): Promise<PatroniNode> {
    const members = await this.#members()
    const name = members.find((member) => member.role === role)?.name
    const node = this.#nodes.find((one) => one.name === name)
    if (node === undefined) throw new Error(`no node is the ${role}: ${JSON.stringify(members)}`)
    return node
  }

  /** As any node tells that answers. */
  async #members(): Promise<readonly Member[]> {
    const asked = this.#nodes.map(async ({ restUrl }) => {
      // eslint-disable-next-line no-restricted-globals -- the same
      const answer = await fetch(`${restUrl}cluster`, { signal: AbortSignal.timeout(2_000) })
      return ((await answer.json()) as { readonly members: readonly Member[] }).members
    })
    return Promise.any(asked).catch(() => [])
  }
}

async function startEtcd(parent: string, url: string, peerPort: number): Promise<Program> {
  const peerUrl = `http://127.0.0.1:${String(peerPort)}`
  return Program.start(PROGRAMS.etcd, [
    ...['--name', 'only', '--data-dir', await makeFolder(join(parent, 'etcd'))],
    ...['--listen-client-urls', url, '--advertise-client-urls', url],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
    ...['--initial-cluster', `only=${peerUrl}`, '--enable-v2', '--logger', 'zap', '--log-level', 'error']
  ])
}

/** As Patroni's documentation has it: a node is up while its REST interface says that it is the primary. */
async function startHaproxy(parent: string, port: number, nodes: readonly PatroniNode[]): Promise<Program> {
  const servers = nodes.map(
    ({ name, postgresHost, restUrl }) =>
      `  server ${name} ${postgresHost} check port ${new URL(restUrl).port}`
  )
  const path = join(parent, 'haproxy.cfg')
  await writeFile(
    path,
    `global
  maxconn 1000
defaults
  mode tcp
  retries 2
  timeout client 30m
  timeout server 30m
  timeout connect 4s
  timeout check 2s
frontend primary
  bind 127.0.0.1:${String(port)}
  default_backend nodes
backend nodes
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`
  )
  await chmod(path, 0o644)
  return Program.start(PROGRAMS.haproxy, ['-f', path, '-db'])
}
