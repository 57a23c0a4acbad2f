import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@open-payments-server/service-kit/node-flags'
import { send } from '@open-payments-server/testing'
import type { Settings } from './plan-system.js'
import type { ServiceName } from './service-name.js'

/** A service's build and settings. */
export interface ServiceBuild {
  readonly service: ServiceName
  readonly settings: Settings
  /** Folder of the checkout that was built; default: this one. */
  readonly root?: string
}

/** A build that runs as a service. */
export interface ServiceProcessOptions extends ServiceBuild {
  /** URL that answers 200 once it is ready. */
  readonly readyUrl: string
  /** File that it writes its log to. Without one, its output comes through this process, which keeps the last lines. */
  readonly logFile?: string
  /** Port of its inspector; default: none. */
  readonly inspectorPort?: number | undefined
}

const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url))
const START_TIMEOUT_MS = 60_000
/** Also the precision of measured start times. */
const READY_POLL_MS = 20
/** The part of its output kept for error reports. */
const OUTPUT_LENGTH_MAX = 20_000

/** A service as in production: its build, in a separate process that can be ended and started again. */
export class ServiceProcess<Options extends ServiceProcessOptions = ServiceProcessOptions> {
  #process: ChildProcess | undefined
  /** How the process ended, once it has. */
  #ended: Promise<string> = Promise.resolve('not started')
  #said = ''

  constructor(readonly options: Options) {}

  /**
   * Starts it.
   *
   * @param readiness the status with which it must answer whether it is ready
   * @returns how long it took until it did, in milliseconds
   * @throws Error with its last words when it ends or does not answer so in time
   */
  async start(readiness: 200 | 503 = 200): Promise<number> {
    const { service, readyUrl, logFile, inspectorPort } = this.options
    const inspector = inspectorPort === undefined ? [] : [`--inspect=127.0.0.1:${String(inspectorPort)}`]
    const begin = performance.now()
    const child = spawnBuild(this.options, { nodeFlags: inspector, parameters: [], logFile })
    this.#process = child
    collectOutput(child, (text) => {
      this.#said = (this.#said + text).slice(-OUTPUT_LENGTH_MAX)
    })
    let runs = true
    this.#ended = endOf(child)
    void this.#ended.then(() => (runs = false))
    for (;;) {
      const answer = await send('GET', readyUrl).catch(() => undefined) // It does not listen yet.
      const startMs = performance.now() - begin
      if (answer?.status === readiness) return startMs
      if (!runs || startMs > START_TIMEOUT_MS) {
        await this.kill()
        throw new Error(`${service} did not start:\n${this.output}`)
      }
      await delay(READY_POLL_MS)
    }
  }

  /** The process. */
  get id(): number {
    return this.#process?.pid ?? 0
  }

  /** Its last output, including that from before a restart. */
  get output(): string {
    const { logFile } = this.options
    return logFile === undefined ? this.#said : readFileSync(logFile, 'utf8').slice(-OUTPUT_LENGTH_MAX)
  }

  /**
   * Ends it as Kubernetes does; resolves once it is gone.
   *
   * @returns how it ended: `exit 0` when all went well
   */
  async stop(): Promise<string> {
    this.#process?.kill('SIGTERM')
    return this.#ended
  }

  /** Kills it, like a crash. Resolves once it is gone. */
  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL')
    await this.#ended
  }
}

/**
 * Migrates a service's database to the schema of its build, as its migration job does.
 *
 * @returns how it ended, `exit 0` for success, and its output
 */
export async function runMigration(build: ServiceBuild): Promise<{ end: string; output: string }> {
  const child = spawnBuild(build, { nodeFlags: [], parameters: ['migrate'] })
  let output = ''
  collectOutput(child, (text) => (output += text))
  return { end: await endOf(child), output }
}

/** Runs a build as the images do. */
function spawnBuild(
  { service, settings, root = CHECKOUT }: ServiceBuild,
  how: { nodeFlags: readonly string[]; parameters: readonly string[]; logFile?: string | undefined }
): ChildProcess {
  const main = join(root, 'services', service, 'dist', 'main.js')
  if (!existsSync(main)) throw new Error(`${main} is not there: npm test and npm run bench build it`)
  const log = how.logFile === undefined ? undefined : openSync(how.logFile, 'a')
  const output = log ?? 'pipe'
  const child = spawn(process.execPath, [...NODE_FLAGS, ...how.nodeFlags, main, ...how.parameters], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...NODE_ENVIRONMENT, ...settings },
    stdio: ['ignore', output, output]
  })
  if (log !== undefined) closeSync(log)
  if (running.size === 0) process.on('exit', killRunning)
  running.add(child)
  child.once('exit', () => {
    running.delete(child)
    if (running.size === 0) process.off('exit', killRunning)
  })
  return child
}

/** Those that end with this process. */
const running = new Set<ChildProcess>()

function killRunning(): void {
  for (const child of running) child.kill('SIGKILL')
}

function collectOutput(child: ChildProcess, collect: (text: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', collect)
  }
}

/** How a process ended, after all its output was read: `exit 0`, or the signal that ended it. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      resolve(signal === null ? `exit ${String(code)}` : signal)
    })
  })
}
