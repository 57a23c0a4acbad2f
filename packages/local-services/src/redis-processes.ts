import { mkdtemp, writeFile } from 'node:fs/promises'
import { connect as connectPlain, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { findOnPath } from './find-on-path.js'
import { findFreePort } from './free-port.js'
import { startGuardedProcess } from './guarded-process.js'
import { serverEnvironment } from './system-user.js'

const START_TIMEOUT_MS = 30_000
const GRACE_MS = 5_000
const ASK_AGAIN_MS = 50
const ANSWER_TIMEOUT_MS = 1_000
const SETTLE_TIMEOUT_MS = 60_000
const END = '+PONG\r\n'

/** One server, or sentinel, of several on this machine. */
export interface RedisProcess {
  readonly port: number
  /** Its process, which tests kill or freeze. */
  readonly pid: number
  /** Its answer to a command of words without spaces, as Redis writes it. Rejects if there is none within a second. */
  ask(...words: readonly string[]): Promise<string>
  /** Kills it, and resolves when it has ended. */
  kill(): Promise<void>
  /** Stops it from running; {@link thaw} lets it run again. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/** Files of servers that are reached over TLS alone, all of them with the same certificate. */
export interface RedisTls {
  readonly certificate: string
  readonly key: string
  /** Certificates that they trust each other by. */
  readonly authority: string
}

/** How one of them is run. */
interface ProcessOptions {
  readonly port?: number
  readonly password?: string | undefined
  /** Without it, it is reached in plain text. */
  readonly tls?: RedisTls | undefined
}

/** Whether there is a `redis-server` on the PATH, which {@link startRedisProcess} needs. */
export async function isRedisInstalled(): Promise<boolean> {
  return (await findOnPath('redis-server')) !== undefined
}

/**
 * Starts a server, or a sentinel, with these lines as its settings, on 127.0.0.1.
 *
 * @throws Error when there is no `redis-server` on the PATH, or with its last output
 */
export async function startRedisProcess(
  as: 'server' | 'sentinel',
  lines: readonly string[],
  { port: wanted, password, tls }: ProcessOptions = {}
): Promise<RedisProcess> {
  const command = await findOnPath('redis-server')
  if (command === undefined) throw new Error('there is no redis-server on the PATH')
  const port = wanted ?? (await findFreePort())
  const directory = await mkdtemp(join(tmpdir(), 'local-redis-'))
  const file = join(directory, 'redis.conf')
  const settings = [...listening(port, tls), 'bind 127.0.0.1', `dir ${directory}`, 'daemonize no', ...lines]
  await writeFile(file, `${settings.join('\n')}\n`)
  const ask = (...words: readonly string[]): Promise<string> => askRedis({ port, password, tls }, words)
  const server = await startGuardedProcess({
    command,
    arguments: [file, ...(as === 'sentinel' ? ['--sentinel'] : [])],
    environment: serverEnvironment(),
    ready: async () => (await ask('INFO', 'server').catch(() => '')).includes('redis_version'),
    startTimeoutMs: START_TIMEOUT_MS,
    stopSignals: ['SIGTERM', 'SIGKILL'],
    graceMs: GRACE_MS,
    removeAfterwards: [directory]
  })
  const pid = Number(/process_id:(\d+)/.exec(await ask('INFO', 'server'))?.[1])
  const signal = (name: NodeJS.Signals): void => {
    process.kill(pid, name)
  }
  return {
    port,
    pid,
    ask,
    kill: () => server.kill('SIGKILL'),
    freeze() {
      signal('SIGSTOP')
    },
    thaw() {
      signal('SIGCONT')
    },
    async stop() {
      try {
        // A frozen process ends only once it runs again.
        signal('SIGCONT')
      } catch {
        // It has ended.
      }
      await server.stop()
    }
  }
}

function listening(port: number, tls: RedisTls | undefined): string[] {
  if (tls === undefined) return [`port ${String(port)}`]
  return [
    ...['port 0', `tls-port ${String(port)}`, 'tls-replication yes', 'tls-cluster yes'],
    ...[`tls-cert-file ${tls.certificate}`, `tls-key-file ${tls.key}`, `tls-ca-cert-file ${tls.authority}`],
    'tls-auth-clients no'
  ]
}

/** Waits until something holds. */
export async function settled(what: string, holds: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + SETTLE_TIMEOUT_MS
  while (!(await holds().catch(() => false))) {
    if (performance.now() > untilMs) throw new Error(`not within a minute: ${what}`)
    await delay(ASK_AGAIN_MS)
  }
}

/** Sends one command over a connection of its own, and a PING, whose answer ends that of the command. */
function askRedis(
  { port, password, tls }: ProcessOptions & { readonly port: number },
  words: readonly string[]
): Promise<string> {
  return new Promise((resolve, reject) => {
    const commands = [...(password === undefined ? [] : [`AUTH ${password}`]), words.join(' '), 'PING', '']
    const at = { host: '127.0.0.1', port }
    const write = () => socket.write(commands.join('\r\n'))
    // It was started here, and tests may give it a certificate that nobody should accept.
    const socket: Socket =
      tls === undefined ? connectPlain(at, write) : connectTls({ ...at, rejectUnauthorized: false }, write)
    let answer = ''
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error('no answer')))
    socket.on('data', (data) => {
      answer += data.toString()
      if (answer.endsWith(END)) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const start = password === undefined ? '' : '+OK\r\n'
      if (!answer.startsWith(start) || !answer.endsWith(END)) reject(new Error(`no whole answer: ${answer}`))
      resolve(answer.slice(start.length, -END.length))
    })
  })
}
