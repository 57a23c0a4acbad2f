import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Settings } from '@open-payments-server/acceptance'
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@open-payments-server/service-process/node-flags'
import { request } from 'undici'

/** Which of the two services. */
export type ServiceName = 'auth-server' | 'resource-server'

/** A service as it runs in production: its build, in a process of its own. */
export interface ServiceOptions {
  readonly service: ServiceName
  /** Its own among those of all replicas. */
  readonly name: string
  readonly settings: Settings
  /** URL that answers 200 once it is ready. */
  readonly readyUrl: string
  /** File that its log is written to. */
  readonly logFile: string
  /** Port of its inspector, for profiles and heaps; absent: none. */
  readonly inspectorPort?: number | undefined
}

const START_TIMEOUT_MS = 60_000
const READY_POLL_MS = 10
const LAST_WORDS_LENGTH = 4_000

/** A service that runs. */
export class ServiceProcess {
  private constructor(
    readonly options: ServiceOptions,
    private readonly process: ChildProcess,
    /** From its start until it was ready. */
    readonly startMs: number
  ) {}

  /**
   * Starts it; resolves once it is ready.
   *
   * @throws Error with its last words when it ends or is not ready in time
   */
  static async start(options: ServiceOptions): Promise<ServiceProcess> {
    const start = performance.now()
    const child = spawnService(options)
    const deadline = start + START_TIMEOUT_MS
    for (;;) {
      const status = await request(options.readyUrl).then(
        async ({ statusCode, body }) => {
          await body.dump()
          return statusCode
        },
        () => undefined // it does not listen yet
      )
      if (status === 200) return new ServiceProcess(options, child, performance.now() - start)
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
        child.kill('SIGKILL')
        const log = readFileSync(options.logFile, 'utf8').slice(-LAST_WORDS_LENGTH)
        throw new Error(`${options.service} did not start:\n${log}`)
      }
      await delay(READY_POLL_MS)
    }
  }

  /** The process. */
  get id(): number {
    return this.process.pid ?? 0
  }

  /** Ends it as production does; resolves once it is gone. */
  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const ended = new Promise((resolve) => this.process.once('exit', resolve))
    this.process.kill('SIGTERM')
    await ended
  }
}

function spawnService({ service, settings, logFile, inspectorPort }: ServiceOptions): ChildProcess {
  const main = fileURLToPath(new URL(`../../../services/${service}/dist/main.js`, import.meta.url))
  if (!existsSync(main)) throw new Error(`${service} is not built: run npm run bench`)
  const log = openSync(logFile, 'a')
  const inspector = inspectorPort === undefined ? [] : [`--inspect=127.0.0.1:${String(inspectorPort)}`]
  const child = spawn(process.execPath, [...NODE_FLAGS, ...inspector, main], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...NODE_ENVIRONMENT, ...settings },
    stdio: ['ignore', log, log]
  })
  const killWithUs = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', killWithUs)
  child.once('exit', () => process.off('exit', killWithUs))
  return child
}
