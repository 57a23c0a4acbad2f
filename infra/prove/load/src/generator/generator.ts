import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { GeneratorAnswer, GeneratorTask, PrepareGrpc, PrepareHttp, Send, Sent } from './messages.js'

/**
 * Flags for a large young generation, so that garbage is collected before a measurement and not during it, and for code that stays
 * compiled: the generator's own pauses must not count as latency.
 */
const PAUSE_FREE = [
  '--min-semi-space-size=512',
  '--max-semi-space-size=512',
  '--initial-old-space-size=1024',
  '--no-incremental-marking',
  '--no-flush-bytecode',
  '--expose-gc'
]

/** The load generator, as the bench sees it. It does one thing at a time. */
export class Generator {
  readonly #process: ChildProcess

  constructor() {
    const program = fileURLToPath(new URL('program.js', import.meta.url))
    this.#process = fork(program, { serialization: 'advanced', execArgv: PAUSE_FREE })
  }

  /** Its process. */
  get processId(): number {
    return this.#process.pid ?? 0
  }

  /** Prepares requests, replacing the previous ones. */
  async prepare(task: Omit<PrepareHttp, 'do'>): Promise<void> {
    await this.#ask({ do: 'prepare http', ...task })
  }

  /** Prepares introspections, replacing what was prepared before. */
  async prepareIntrospections(introspections: PrepareGrpc['introspections']): Promise<void> {
    await this.#ask({ do: 'prepare grpc', introspections })
  }

  /**
   * Sends what was prepared.
   *
   * @throws Error for an unexpected answer
   */
  async send(task: Omit<Send, 'do'>): Promise<Sent> {
    const answer = await this.#ask({ do: 'send', ...task })
    if ('sent' in answer) return answer.sent
    throw new Error('the generator answered something else than what it was asked')
  }

  /** Ends it. */
  stop(): void {
    this.#process.disconnect()
  }

  async #ask(task: GeneratorTask): Promise<GeneratorAnswer> {
    const over = new AbortController()
    this.#process.send(task)
    const ended = once(this.#process, 'exit', { signal: over.signal }).then(() => {
      throw new Error('the generator ended')
    })
    try {
      const [answer] = (await Promise.race([
        once(this.#process, 'message', { signal: over.signal }),
        ended
      ])) as [GeneratorAnswer]
      if ('failure' in answer) throw new Error(answer.failure)
      return answer
    } finally {
      ended.catch(() => undefined) // its end is no longer awaited
      over.abort()
    }
  }
}
