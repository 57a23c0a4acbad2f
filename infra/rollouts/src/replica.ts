import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Settings } from '@open-payments-server/acceptance'
import { send } from '@open-payments-server/testing'

/** Which of the two services. */
export type ServiceName = 'auth-server' | 'resource-server'

/** What runs, and how. */
export interface ReplicaOptions {
  readonly service: ServiceName
  /** Folder of the checkout whose build runs. */
  readonly root: string
  /** Address of this machine that it listens on, which no other replica has: as a pod has one. */
  readonly host: string
  readonly settings: Settings
  /** URL that answers 200 once it is ready. */
  readonly readyUrl: string
}

const START_TIMEOUT_MS = 60_000
const READY_POLL_MS = 50
/** Lines of output that are kept for whoever must find out what went wrong. */
const OUTPUT_LINES_MAX = 200

/** One process of a service. */
export class Replica {
  readonly options: ReplicaOptions
  readonly #process: ChildProcess
  readonly #exited: Promise<string>
  #output: string[] = []

  private constructor(options: ReplicaOptions) {
    this.options = options
    this.#process = runService(options, [])
    this.#exited = exitOf(this.#process)
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output = [...this.#output, ...chunk.toString().trimEnd().split('\n')].slice(-OUTPUT_LINES_MAX)
      })
    }
  }

  /**
   * Starts a replica; resolves once it is ready.
   *
   * @throws Error with its last words when it ends or is not ready in time
   */
  static async start(options: ReplicaOptions): Promise<Replica> {
    const replica = new Replica(options)
    const deadline = Date.now() + START_TIMEOUT_MS
    let exit: string | undefined
    void replica.#exited.then((how) => (exit = how))
    for (;;) {
      const answer = await send('GET', options.readyUrl).catch(() => undefined)
      if (answer?.status === 200) return replica
      if (exit !== undefined || Date.now() > deadline) {
        replica.#process.kill('SIGKILL')
        throw new Error(`${options.service} did not start:\n${replica.output}`)
      }
      await delay(READY_POLL_MS)
    }
  }

  /**
   * Ends it as Kubernetes does.
   *
   * @returns how it ended: `exit 0` when all went well
   */
  async stop(): Promise<string> {
    this.#process.kill('SIGTERM')
    return this.#exited
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exited
  }

  /** What it said last. */
  get output(): string {
    return this.#output.join('\n')
  }
}

/**
 * Brings a service's database to the schema of a checkout, as its migration job does.
 *
 * @throws Error with what it said when it fails
 */
export async function migrate(options: Pick<ReplicaOptions, 'service' | 'root' | 'settings'>): Promise<void> {
  const child = runService(options, ['migrate'])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  }
  const exit = await exitOf(child)
  if (exit !== 'exit 0') throw new Error(`the migration of ${options.service} ended with ${exit}:\n${output}`)
}

function runService(
  { service, root, settings }: Pick<ReplicaOptions, 'service' | 'root' | 'settings'>,
  parameters: string[]
): ChildProcess {
  const main = join(root, 'services', service, 'dist', 'main.js')
  if (!existsSync(main)) throw new Error(`${main} is not there: run the tests with npm test`)
  const child = spawn(process.execPath, [main, ...parameters], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const killWithUs = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', killWithUs)
  child.once('exit', () => process.off('exit', killWithUs))
  return child
}

function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? `exit ${String(code)}` : signal)
    })
  })
}
