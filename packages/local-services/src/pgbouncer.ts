import { chown, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findOnPath } from './find-on-path.js'
import { findFreePort } from './free-port.js'
import { startGuardedProcess } from './guarded-process.js'
import { postgresUser, serverEnvironment } from './system-user.js'

const startTimeoutMs = 30_000
const graceMs = 5_000
const clientConnectionsMax = 400

/** A local PgBouncer in transaction mode. */
export interface LocalPgBouncer {
  /** URL of a database of the PostgreSQL behind it, through it. */
  through(databaseUrl: string): string
  /** Stops it; resolves when it has ended. May be called again. */
  stop(): Promise<void>
}

/**
 * Starts the `pgbouncer` on the PATH, only on 127.0.0.1 and without passwords. It ends with this process at the latest.
 *
 * @param options.postgresUrl what it connects to, and as which user
 * @param options.sessionsMax maximum number of sessions that it opens for each database
 * @returns undefined when there is no `pgbouncer`
 */
export async function startPgBouncer(options: {
  postgresUrl: string
  sessionsMax: number
}): Promise<LocalPgBouncer | undefined> {
  const command = await findOnPath('pgbouncer')
  if (command === undefined) return undefined
  const user = await postgresUser()
  const port = await findFreePort()
  const directory = await mkdtemp(join(tmpdir(), 'local-pgbouncer-'))
  const settingsPath = join(directory, 'pgbouncer.ini')
  await writeFile(settingsPath, settingsOf(new URL(options.postgresUrl), port, options.sessionsMax), {
    mode: 0o600
  })
  if (user !== undefined) for (const path of [directory, settingsPath]) await chown(path, user.uid, user.gid)
  const through = (databaseUrl: string): string => {
    const url = new URL(databaseUrl)
    url.host = `127.0.0.1:${String(port)}`
    return url.href
  }
  const server = await startGuardedProcess({
    command,
    arguments: [settingsPath],
    environment: serverEnvironment(),
    user,
    ready: () => accepts(through(options.postgresUrl)),
    startTimeoutMs,
    stopSignals: ['SIGTERM', 'SIGKILL'],
    graceMs,
    removeAfterwards: [directory]
  })
  return { through, stop: () => server.stop() }
}

function settingsOf(postgres: URL, port: number, sessionsMax: number): string {
  const { hostname, port: postgresPort, username, password } = postgres
  return `[databases]
* = host=${hostname} port=${postgresPort} user=${username} password=${decodeURIComponent(password)}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${String(port)}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${String(sessionsMax)}
max_client_conn = ${String(clientConnectionsMax)}
`
}

async function accepts(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // it is not there yet, and that is what is answered
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end()
  }
}
