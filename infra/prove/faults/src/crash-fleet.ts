import type { Crash } from './crash-points.js'
import { runCrash } from './crash-run.js'
import { type CrashSystem, startCrashSystem } from './crash-system.js'

interface Outcome {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Some systems beside each other that take crash after crash: most of the time of each is spent waiting. */
export class CrashFleet {
  readonly #queue: Crash[]
  readonly #left: Map<Crash, number>
  readonly #outcomes: ReadonlyMap<Crash, Outcome>
  readonly #running: Promise<unknown>

  /**
   * @param options.rounds how often each crash is run
   * @param options.systems how many systems run beside each other
   */
  constructor(crashes: readonly Crash[], options: { rounds: number; systems: number }) {
    this.#queue = Array.from({ length: options.rounds }, () => crashes).flat()
    this.#left = new Map(crashes.map((crash) => [crash, options.rounds]))
    this.#outcomes = new Map(crashes.map((crash) => [crash, outcome()]))
    this.#running = Promise.all(Array.from({ length: options.systems }, () => this.#runOneSystem()))
  }

  /** Resolves once all rounds of a crash went well; rejects with the first that did not. */
  outcomeOf(crash: Crash): Promise<void> {
    return this.#outcomes.get(crash)?.promise ?? Promise.reject(new Error(`${crash.name} is not run`))
  }

  /** Ends the systems, once each has finished its crash. */
  async stop(): Promise<void> {
    this.#queue.length = 0
    await this.#running
  }

  async #runOneSystem(): Promise<void> {
    let system: CrashSystem | undefined
    for (let crash = this.#queue.shift(); crash !== undefined; crash = this.#queue.shift()) {
      try {
        system ??= await startCrashSystem()
        await runCrash(system, crash)
        this.#succeeded(crash)
      } catch (error) {
        this.#outcomes.get(crash)?.reject(withOutput(error, system))
        // Without a system there is no use in trying the others; what one crash broke must not be blamed on the next.
        if (system === undefined) this.#failAll(error)
        await system?.stop()
        system = undefined
      }
    }
    await system?.stop()
  }

  #failAll(error: unknown): void {
    this.#queue.length = 0
    for (const { reject } of this.#outcomes.values()) reject(error)
  }

  #succeeded(crash: Crash): void {
    const left = (this.#left.get(crash) ?? 0) - 1
    this.#left.set(crash, left)
    if (left === 0) this.#outcomes.get(crash)?.resolve()
  }
}

function withOutput(error: unknown, system: CrashSystem | undefined): Error {
  const message = error instanceof Error ? error.message : String(error)
  return new Error(`${message}\n${system?.output() ?? ''}`, { cause: error })
}

function outcome(): Outcome {
  let resolve: Outcome['resolve'] | undefined
  let reject: Outcome['reject'] | undefined
  const promise = new Promise<void>((...both) => {
    ;[resolve, reject] = both
  })
  // It may fail before anybody asks.
  promise.catch(() => undefined)
  if (resolve === undefined || reject === undefined) throw new Error('a promise calls its executor at once')
  return { promise, resolve, reject }
}
