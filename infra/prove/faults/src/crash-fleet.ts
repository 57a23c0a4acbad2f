interface Result {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What can run a crash. */
interface CrashableSystem {
  /** What its services said last. */
  output(): string
  stop(): Promise<void>
}

/** How a fleet runs crashes. */
export interface CrashFleetOptions<Crash, System extends CrashableSystem> {
  /** Number of times that each crash is run. */
  readonly rounds: number
  /** Number of systems that run in parallel. */
  readonly systems: number
  readonly start: () => Promise<System>
  /** Runs a crash; throws an Error naming everything that is wrong. */
  readonly run: (system: System, crash: Crash) => Promise<void>
}

/** Several systems that run crashes in parallel, because each spends most of its time waiting. */
export class CrashFleet<Crash extends { readonly name: string }, System extends CrashableSystem> {
  readonly #options: CrashFleetOptions<Crash, System>
  readonly #queue: Crash[]
  readonly #left: Map<Crash, number>
  readonly #results: ReadonlyMap<Crash, Result>
  readonly #running: Promise<unknown>

  constructor(crashes: readonly Crash[], options: CrashFleetOptions<Crash, System>) {
    this.#options = options
    this.#queue = Array.from({ length: options.rounds }, () => crashes).flat()
    this.#left = new Map(crashes.map((crash) => [crash, options.rounds]))
    this.#results = new Map(crashes.map((crash) => [crash, result()]))
    this.#running = Promise.all(Array.from({ length: options.systems }, () => this.#runOneSystem()))
  }

  /** Resolves once all rounds of a crash went well; rejects with the first that did not. */
  resultOf(crash: Crash): Promise<void> {
    return this.#results.get(crash)?.promise ?? Promise.reject(new Error(`${crash.name} is not run`))
  }

  /** Ends the systems, once each has finished its crash. */
  async stop(): Promise<void> {
    this.#queue.length = 0
    await this.#running
  }

  async #runOneSystem(): Promise<void> {
    let system: System | undefined
    for (let crash = this.#queue.shift(); crash !== undefined; crash = this.#queue.shift()) {
      try {
        system ??= await this.#options.start()
        await this.#options.run(system, crash)
        this.#succeeded(crash)
      } catch (error) {
        this.#results.get(crash)?.reject(withOutput(error, system))
        // The others cannot run without a system, and what one crash broke must not be blamed on the next.
        if (system === undefined) this.#failAll(error)
        await system?.stop()
        system = undefined
      }
    }
    await system?.stop()
  }

  #failAll(error: unknown): void {
    this.#queue.length = 0
    for (const { reject } of this.#results.values()) reject(error)
  }

  #succeeded(crash: Crash): void {
    const left = (this.#left.get(crash) ?? 0) - 1
    this.#left.set(crash, left)
    if (left === 0) this.#results.get(crash)?.resolve()
  }
}

function withOutput(error: unknown, system: CrashableSystem | undefined): Error {
  const message = error instanceof Error ? error.message : String(error)
  return new Error(`${message}\n${system?.output() ?? ''}`, { cause: error })
}

function result(): Result {
  let resolve: Result['resolve'] | undefined
  let reject: Result['reject'] | undefined
  const promise = new Promise<void>((...both) => {
    ;[resolve, reject] = both
  })
  // It may fail before anything awaits it.
  promise.catch(() => undefined)
  if (resolve === undefined || reject === undefined) throw new Error('a promise calls its executor at once')
  return { promise, resolve, reject }
}
