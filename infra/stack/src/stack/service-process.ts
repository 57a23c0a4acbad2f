import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@open-payments-server/service-kit/node-flags'
import { StackError } from './settings.js'

const LAST_LINES_SHOWN = 12
const READY_POLL_MS = 60
const READY_TIMEOUT_MS = 60_000
const PROBE_TIMEOUT_MS = 2_000
/** How long a service may take to stop before it is killed. */
const STOP_TIMEOUT_MS = 12_000

const endWithParent = fileURLToPath(new URL('./end-with-parent.js', import.meta.url))

/** How a service is run. */
export interface ServiceOptions {
  /** Its name, for people. */
  readonly name: string
  /** Its compiled entry. */
  readonly script: string
  readonly arguments?: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** File for all its output. */
  readonly logFile: string
  /** Whether the log is truncated or appended to. */
  readonly append?: boolean
}

/** A service as a separate process, which ends with this one at the latest. */
export class ServiceProcess {
  /** Resolves with a message for people when it has ended. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly #options: ServiceOptions
  readonly #child: ChildProcess
  #running = true

  constructor(options: ServiceOptions) {
    this.#options = options
    // It writes to the file itself, so its last lines are kept even if its parent has ended.
    const log = openSync(options.logFile, options.append === true ? 'a' : 'w')
    this.#child = spawn(
      process.execPath,
      [
        ...NODE_FLAGS,
        '--enable-source-maps',
        '--import',
        endWithParent,
        options.script,
        ...(options.arguments ?? [])
      ],
      {
        env: { ...NODE_ENVIRONMENT, ...options.environment },
        // Its own process group: only we must receive Ctrl-C, so that everything stops in order.
        detached: true,
        stdio: ['ignore', log, log, 'ipc']
      }
    )
    closeSync(log)
    this.ended = this.#watch()
  }

  async #watch(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const [code, signal] = (await once(this.#child, 'exit')) as [number | null, NodeJS.Signals | null]
    this.#running = false
    return { code, signal }
  }

  /**
   * Waits until `url` reports that it is ready.
   *
   * @throws StackError when it ends instead, or takes too long
   */
  async ready(url: string, signal: AbortSignal): Promise<void> {
    const deadline = Date.now() + READY_TIMEOUT_MS
    while (!(await isReady(url))) {
      signal.throwIfAborted()
      if (!this.#running) throw await this.failure()
      if (Date.now() > deadline)
        throw new StackError(`${await this.#lastWords()}\n${this.#options.name} did not become ready.`)
      await delay(READY_POLL_MS, undefined, { signal })
    }
  }

  /**
   * Waits until it has ended by itself.
   *
   * @throws StackError when it failed
   */
  async completed(): Promise<void> {
    const { code } = await this.ended
    if (code !== 0) throw await this.failure()
  }

  /** The message for a service that ended unexpectedly. */
  async failure(): Promise<StackError> {
    const { code, signal } = await this.ended
    const how = signal === null ? `with status ${String(code)}` : `by ${signal}`
    return new StackError(
      `${await this.#lastWords()}\n${this.#options.name} ended ${how}. Its whole log: ${this.#options.logFile}`
    )
  }

  /** Asks it to stop, and kills it if it does not. */
  async stop(): Promise<void> {
    if (!this.#running) return
    this.#child.kill('SIGTERM')
    const timeout = new AbortController()
    const stopped = await Promise.race([
      this.ended.then(() => true),
      delay(STOP_TIMEOUT_MS, false, { signal: timeout.signal, ref: false })
    ])
    timeout.abort()
    if (!stopped) this.#child.kill('SIGKILL')
    await this.ended
  }

  async #lastWords(): Promise<string> {
    const text = await readFile(this.#options.logFile, 'utf8')
    return text.trimEnd().split('\n').slice(-LAST_LINES_SHOWN).map(readable).join('\n')
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** A line of structured log as a person reads it; any other line as it is. */
function readable(line: string): string {
  try {
    const { time, msg, err, reason } = JSON.parse(line) as Record<string, unknown> & {
      err?: { message?: unknown }
    }
    const parts = [typeof time === 'string' ? time.slice(11, 19) : undefined, msg, reason, err?.message]
    return parts.filter((part) => typeof part === 'string').join('  ')
  } catch {
    return line
  }
}
