import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { SystemUser } from './system-user.js'

const guardPath = fileURLToPath(new URL('../guard.mjs', import.meta.url))

/** Number of a server's last lines that an error about it includes. */
const linesInErrors = 12
const askAgainMs = 25

/** How a server is run, recognized as ready, and stopped. */
export interface GuardedProcessOptions {
  readonly command: string
  readonly arguments: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** User to run it as; default: the current user. */
  readonly user?: SystemUser | undefined
  /** Text of its output once it is ready, or a check that is repeated until it succeeds. */
  readonly ready: string | (() => Promise<boolean>)
  readonly startTimeoutMs: number
  /** Signals, sent in this order, `graceMs` apart, until it has ended. */
  readonly stopSignals: readonly [NodeJS.Signals, ...NodeJS.Signals[]]
  readonly graceMs: number
  /** Directory that is removed once the server has ended, even if this process has ended before. */
  readonly removeAfterwards?: readonly string[]
  readonly removeAfterwardsIfEmpty?: readonly string[]
  readonly log?: ((line: string) => void) | undefined
}

/** A running server that ends with this process at the latest. */
export interface GuardedProcess {
  /** Resolves with the server's exit code when it has ended, requested or not. */
  readonly ended: Promise<number>
  /** Stops the server and resolves when it has ended. May be called again. */
  stop(): Promise<void>
  /** Sends the server a signal that ends it, and resolves when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>
}

/** A server ended, or stayed silent, instead of becoming ready. `output` is its last lines. */
export class ServerDidNotStart extends Error {
  override readonly name = 'ServerDidNotStart'

  constructor(
    reason: string,
    readonly output: string
  ) {
    super(output === '' ? reason : `${reason}; its last words:\n${output}`)
  }
}

/**
 * Runs a server under a guard, a small process that stops the server on request and when this process ends or is killed.
 *
 * @throws ServerDidNotStart
 */
export async function startGuardedProcess(options: GuardedProcessOptions): Promise<GuardedProcess> {
  const guard = spawnGuard(options)
  const lastLines: string[] = []
  const ended = once(guard, 'exit').then(([code]: unknown[]) => (typeof code === 'number' ? code : 1))
  const over = new AbortController()
  const said = new Promise<'ready'>((resolve) => {
    forEachLine(guard, (line) => {
      options.log?.(line)
      lastLines.push(line)
      if (lastLines.length > linesInErrors) lastLines.shift()
      if (typeof options.ready === 'string' && line.includes(options.ready)) resolve('ready')
    })
  })
  const stop = async (): Promise<void> => {
    guard.ref()
    guard.stdin.end()
    await ended
  }
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    guard.ref()
    guard.stdin.write(`${signal}\n`)
    await ended
  }
  const result = await Promise.race([
    typeof options.ready === 'string' ? said : askUntilReady(options.ready, over.signal),
    // Not `exit`: its last output may come after that.
    once(guard, 'close').then(() => 'ended at once' as const),
    delay(options.startTimeoutMs, `was not ready after ${String(options.startTimeoutMs)} ms`, {
      signal: over.signal
    })
  ]).finally(() => {
    over.abort()
  })
  if (result !== 'ready') {
    await stop()
    throw new ServerDidNotStart(`${options.command} ${result}`, lastLines.join('\n'))
  }
  letTheProcessEnd(guard)
  return { ended, stop, kill }
}

type Guard = ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable }

function spawnGuard(options: GuardedProcessOptions): Guard {
  const { command, environment, user, stopSignals, graceMs } = options
  const guard = spawn(
    process.execPath,
    [
      guardPath,
      JSON.stringify({
        command,
        arguments: options.arguments,
        environment,
        user,
        stopSignals,
        graceMs,
        removeAfterwards: options.removeAfterwards ?? [],
        removeAfterwardsIfEmpty: options.removeAfterwardsIfEmpty ?? []
      })
    ],
    { cwd: '/', env: environment, stdio: ['pipe', 'pipe', 'pipe'], detached: true }
  )
  // The guard may be gone before we close its input; `exit` tells what happened.
  guard.stdin.on('error', () => undefined)
  return guard
}

/** A forgotten server must not keep this process from ending; the guard then stops the server. */
function letTheProcessEnd(guard: Guard): void {
  guard.unref()
  for (const stream of [guard.stdin, guard.stdout, guard.stderr]) (stream as { unref?: () => void }).unref?.()
}

function forEachLine(guard: Guard, onLine: (line: string) => void): void {
  for (const input of [guard.stdout, guard.stderr]) createInterface({ input }).on('line', onLine)
}

async function askUntilReady(isReady: () => Promise<boolean>, over: AbortSignal): Promise<'ready'> {
  while (!(await isReady())) await delay(askAgainMs, undefined, { signal: over })
  return 'ready'
}
