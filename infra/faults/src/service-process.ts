import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Settings } from '@open-payments-server/acceptance'
import { send } from '@open-payments-server/testing'

/** A service as it runs in production: its build, in a process of its own. */
export interface ServiceOptions {
  readonly service: 'auth-server' | 'resource-server'
  readonly settings: Settings
  /** URL that answers 200 once it is ready. */
  readonly readyUrl: string
}

const START_TIMEOUT_MS = 60_000
const READY_POLL_MS = 50
/** Lines of output that are kept for whoever must find out what went wrong. */
const OUTPUT_LINES_MAX = 200

/** A service that can be killed and started again. */
export class ServiceProcess {
  #process: ChildProcess | undefined
  #output: string[] = []

  constructor(private readonly options: ServiceOptions) {}

  /**
   * Starts it; resolves once it is ready.
   *
   * @throws Error with its last words when it ends or is not ready in time
   */
  async start(): Promise<void> {
    const { service, settings } = this.options
    const main = fileURLToPath(new URL(`../../../services/${service}/dist/main.js`, import.meta.url))
    if (!existsSync(main)) throw new Error(`${service} is not built: run the tests with npm test`)
    const child = spawn(process.execPath, [main], {
      env: { PATH: process.env.PATH, ...settings },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    this.#process = child
    const killWithUs = (): void => {
      child.kill('SIGKILL')
    }
    process.once('exit', killWithUs)
    child.once('exit', () => process.off('exit', killWithUs))
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#output = [...this.#output, ...chunk.toString().trimEnd().split('\n')].slice(-OUTPUT_LINES_MAX)
      })
    }
    await this.#ready(child)
  }

  /** Ends it as a crash would: at once, and without a chance to do anything. Resolves once it is gone. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  /** What it said last. */
  get output(): string {
    return this.#output.join('\n')
  }

  async #ready(child: ChildProcess): Promise<void> {
    const { service, readyUrl } = this.options
    const deadline = Date.now() + START_TIMEOUT_MS
    for (;;) {
      const answer = await send('GET', readyUrl).catch(() => undefined)
      if (answer?.status === 200) return
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline)
        throw new Error(`${service} did not start:\n${this.output}`)
      await delay(READY_POLL_MS)
    }
  }
}
