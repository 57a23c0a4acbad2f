import { execFile } from 'node:child_process'
import { chown, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { postgresUser, startTcpProxy, type TcpProxy } from '@open-payments-server/local-services'
import { makeFolder, Program, PROGRAMS } from './programs.js'

/** What all nodes of a cluster have in common. */
export interface ClusterSettings {
  /** Seconds after which a leader that does not renew its lock has lost it. */
  readonly ttlSeconds: number
  /** Seconds between two looks of a node at the cluster. */
  readonly loopSeconds: number
  readonly password: string
  /** URL of etcd. */
  readonly etcdUrl: string
}

/** How others reach a node, and the node etcd. */
type NodeProxies = Readonly<Record<'postgres' | 'rest' | 'etcd', TcpProxy>>

/** A Patroni with its PostgreSQL, which the others, HAProxy and clients reach through proxies, as over a network. */
export class PatroniNode {
  readonly name: string
  readonly #configuration: string
  readonly #dataDirectory: string
  readonly #proxies: NodeProxies
  #patroni: Program | undefined

  private constructor(
    name: string,
    files: { readonly configuration: string; readonly dataDirectory: string },
    proxies: NodeProxies
  ) {
    this.name = name
    this.#configuration = files.configuration
    this.#dataDirectory = files.dataDirectory
    this.#proxies = proxies
  }

  /**
   * @param parent folder of its files
   * @param ports where PostgreSQL and Patroni's REST interface listen
   */
  static async create(
    name: string,
    parent: string,
    ports: { readonly postgres: number; readonly rest: number },
    settings: ClusterSettings
  ): Promise<PatroniNode> {
    const home = await makeFolder(join(parent, name))
    const dataDirectory = join(home, 'data')
    const proxies = {
      postgres: await startTcpProxy(`tcp://127.0.0.1:${String(ports.postgres)}`),
      rest: await startTcpProxy(`http://127.0.0.1:${String(ports.rest)}`),
      etcd: await startTcpProxy(settings.etcdUrl)
    }
    const configuration = join(home, 'patroni.yml')
    // JSON is YAML.
    const text = JSON.stringify(configurationOf({ name, home, dataDirectory, ports, proxies, settings }))
    await writeFile(configuration, text, { mode: 0o600 })
    const user = await postgresUser()
    if (user !== undefined) await chown(configuration, user.uid, user.gid)
    return new PatroniNode(name, { configuration, dataDirectory }, proxies)
  }

  /** Where others reach its PostgreSQL, such as `127.0.0.1:5432`. */
  get postgresHost(): string {
    return new URL(this.#proxies.postgres.url).host
  }

  /** Where others reach its REST interface. */
  get restUrl(): string {
    return this.#proxies.rest.url
  }

  /** What Patroni and PostgreSQL said last. */
  get output(): string {
    return `${this.name}:\n${String(this.#patroni?.output)}`
  }

  async start(): Promise<void> {
    this.#patroni = await Program.start(PROGRAMS.patroni, [this.#configuration])
  }

  /** Kills the server of PostgreSQL, and leaves Patroni to find out. */
  async killPostmaster(): Promise<void> {
    process.kill(await this.#postmaster(), 'SIGKILL')
  }

  /** The machine is lost: nothing of it runs, and nobody is told. */
  async lose(): Promise<void> {
    this.cutOff()
    const processes = await this.#postgresProcesses()
    await this.#patroni?.kill()
    signalAll(processes, 'SIGKILL')
  }

  /** Everything on the machine stands still, and its connections stay. */
  async freeze(): Promise<void> {
    const processes = await this.#postgresProcesses()
    this.#patroni?.freeze()
    signalAll(processes, 'SIGSTOP')
  }

  /** It runs, and neither hears nor is heard. */
  cutOff(): void {
    for (const proxy of Object.values(this.#proxies)) proxy.hang()
  }

  /** Undoes what was done to it. */
  async mend(what: 'lost' | 'frozen' | 'cut-off'): Promise<void> {
    for (const proxy of Object.values(this.#proxies)) {
      // What hung for long is closed by systems at last.
      if (what !== 'frozen') proxy.drop()
      await proxy.restore()
    }
    if (what === 'lost') await this.start()
    if (what !== 'frozen') return
    signalAll(await this.#postgresProcesses(), 'SIGCONT')
    this.#patroni?.resume()
  }

  async stop(): Promise<void> {
    const processes = await this.#postgresProcesses().catch(() => []) // it may not run
    await this.#patroni?.kill()
    signalAll(processes, 'SIGKILL')
    await Promise.all(Object.values(this.#proxies).map((proxy) => proxy.stop()))
  }

  async #postmaster(): Promise<number> {
    const [pid] = (await readFile(join(this.#dataDirectory, 'postmaster.pid'), 'utf8')).split('\n', 1)
    return Number(pid)
  }

  /** The server first. Each is in a group of its own. */
  async #postgresProcesses(): Promise<number[]> {
    const postmaster = await this.#postmaster()
    const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '--ppid', String(postmaster)])
    return [postmaster, ...stdout.trim().split(/\s+/).map(Number)]
  }
}

function signalAll(processes: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of processes) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // a session that just ended
    }
  }
}

/** Patroni's settings, as its documentation recommends them for synchronous replication. */
function configurationOf(node: {
  readonly name: string
  readonly home: string
  readonly dataDirectory: string
  readonly ports: { readonly postgres: number; readonly rest: number }
  readonly proxies: NodeProxies
  readonly settings: ClusterSettings
}): object {
  const { ports, proxies, settings } = node
  const { password, ttlSeconds, loopSeconds } = settings
  const hostOf = (proxy: TcpProxy): string => new URL(proxy.url).host
  return {
    scope: 'wallets',
    name: node.name,
    log: { level: 'INFO' },
    restapi: { listen: `127.0.0.1:${String(ports.rest)}`, connect_address: hostOf(proxies.rest) },
    // Not `etcd3`: there, until 3.0.3, a primary that was frozen takes the lock of its successor away, and what that one committed is lost.
    // Without `use_proxies` it would ask etcd for its own address, and go on where it was cut off from it.
    etcd: { hosts: [hostOf(proxies.etcd)], use_proxies: true },
    bootstrap: {
      dcs: {
        ttl: ttlSeconds,
        loop_wait: loopSeconds,
        retry_timeout: loopSeconds,
        maximum_lag_on_failover: 1_048_576,
        synchronous_mode: true,
        // Without it, one that was just promoted commits alone until Patroni has looked twice.
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 100,
            synchronous_commit: 'on',
            wal_log_hints: 'on',
            wal_retrieve_retry_interval: '500ms',
            wal_keep_size: '256MB'
          }
        }
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums']
    },
    postgresql: {
      listen: `127.0.0.1:${String(ports.postgres)}`,
      connect_address: hostOf(proxies.postgres),
      data_dir: node.dataDirectory,
      bin_dir: dirname(PROGRAMS.postgres),
      // A node that is made anew waits for no checkpoint, which would take minutes.
      basebackup: [{ checkpoint: 'fast' }],
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password }
      },
      pg_hba: [
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication replicator 127.0.0.1/32 scram-sha-256'
      ],
      parameters: { unix_socket_directories: node.home, timezone: 'UTC' }
    }
  }
}
