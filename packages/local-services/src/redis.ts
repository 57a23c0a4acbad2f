import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findOnPath } from './find-on-path.js'
import { findFreePort, isPortFree } from './free-port.js'
import { startGuardedProcess } from './guarded-process.js'
import { serverEnvironment } from './system-user.js'

const startTimeoutMs = 30_000
const graceMs = 5_000

/** A local Redis without persistence. */
export interface LocalRedis {
  /** `redis://127.0.0.1:port` */
  readonly url: string
  /** Resolves with the server's exit code when it has ended, requested or not. */
  readonly ended: Promise<number>
  /** Stops the server; resolves when it has ended. May be called again. */
  stop(): Promise<void>
}

/** Options of a Redis. */
export interface RedisOptions {
  /** On 127.0.0.1; a free one when absent. */
  readonly port?: number
  /** Receives each line of the server's output. */
  readonly log?: (line: string) => void
}

/**
 * Starts the `redis-server` on the PATH, only on 127.0.0.1 and without persistence. It ends with this process at the
 * latest.
 *
 * @returns undefined when there is no `redis-server`
 * @throws Error when the port is taken, or with the server's last output
 */
export async function startRedis(options: RedisOptions = {}): Promise<LocalRedis | undefined> {
  const command = await findOnPath('redis-server')
  if (command === undefined) return undefined
  if (options.port !== undefined && !(await isPortFree(options.port))) {
    throw new Error(`port ${String(options.port)} of 127.0.0.1 is taken by another process`)
  }
  const port = options.port ?? (await findFreePort())
  const directory = await mkdtemp(join(tmpdir(), 'local-redis-'))
  const server = await startGuardedProcess({
    command,
    arguments: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--daemonize', 'no'],
      ...['--save', '', '--appendonly', 'no']
    ],
    environment: serverEnvironment(),
    ready: 'Ready to accept connections',
    startTimeoutMs,
    stopSignals: ['SIGTERM', 'SIGKILL'],
    graceMs,
    removeAfterwards: [directory],
    log: options.log
  })
  return { url: `redis://127.0.0.1:${String(port)}`, ended: server.ended, stop: () => server.stop() }
}
