import { type Logger, within } from '@open-payments-server/runtime'

/** Maximum time to wait for one dependency, in milliseconds. */
const CHECK_TIMEOUT_MS = 1_000

/** The problem reported when a dependency's check fails. */
const SILENT = 'does not answer'

/** Something that the service needs. */
export interface Dependency {
  readonly name: string
  /**
   * `always`: the service cannot work without it. `at-start`: needed until it was reached once; after that, only parts
   * depend on it.
   */
  readonly needed: 'always' | 'at-start'
  /**
   * Checks whether it is usable.
   *
   * @returns the problem, in a fixed text without details; undefined if there is none
   * @throws any failure; only the log gets it
   */
  check(): Promise<string | undefined>
}

/** The state of one dependency. */
export interface DependencyReport {
  readonly name: string
  readonly status: 'up' | 'down'
  /** Why it is down. */
  readonly reason?: string
}

/** Whether requests should be sent here now. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not ready'
  /** Why it is not ready; empty when it is. */
  readonly reasons: readonly string[]
  readonly dependencies: readonly DependencyReport[]
}

/** Whether a service can work. Each change is logged once, however often it is asked. */
export class Readiness {
  readonly #dependencies: readonly Dependency[]
  readonly #logger: Logger
  readonly #timeoutMs: number
  readonly #seen = new Set<string>()
  readonly #down = new Map<string, string>()
  #checking: Promise<DependencyReport[]> | undefined
  #stopping = false

  /** @param options.timeoutMs how long a dependency may take to answer, in milliseconds; a second unless given */
  constructor(options: { dependencies: readonly Dependency[]; logger: Logger; timeoutMs?: number }) {
    this.#dependencies = options.dependencies
    this.#logger = options.logger
    this.#timeoutMs = options.timeoutMs ?? CHECK_TIMEOUT_MS
  }

  /** The service is stopping: from now on it is not ready. */
  stop(): void {
    this.#stopping = true
  }

  /** Checks every dependency. Concurrent callers share one check. Never rejects. */
  async report(): Promise<ReadinessReport> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    const dependencies = await this.#checking
    const reasons = [
      ...(this.#stopping ? ['stopping'] : []),
      ...dependencies.flatMap(({ name, reason }) =>
        reason === undefined || !this.#isNeeded(name) ? [] : [`${name}: ${reason}`]
      )
    ]
    return { status: reasons.length === 0 ? 'ready' : 'not ready', reasons, dependencies }
  }

  #isNeeded(name: string): boolean {
    const needed = this.#dependencies.find((dependency) => dependency.name === name)?.needed
    return needed === 'always' || !this.#seen.has(name)
  }

  #check(): Promise<DependencyReport[]> {
    return Promise.all(this.#dependencies.map((dependency) => this.#checkOne(dependency)))
  }

  async #checkOne(dependency: Dependency): Promise<DependencyReport> {
    const { name } = dependency
    const { reason, error } = await within(this.#timeoutMs, name, dependency.check()).then(
      (wrong): { reason: string | undefined; error?: unknown } => ({ reason: wrong }),
      (error: unknown) => ({ reason: SILENT, error })
    )
    this.#tell(name, reason, error)
    if (reason !== undefined) return { name, status: 'down', reason }
    this.#seen.add(name)
    return { name, status: 'up' }
  }

  /** Probes come every few seconds; an outage must not fill the log. */
  #tell(dependency: string, reason: string | undefined, error: unknown): void {
    const before = this.#down.get(dependency)
    if (reason === before) return
    if (reason === undefined) {
      this.#down.delete(dependency)
      this.#logger.info({ dependency }, 'dependency answers again')
    } else {
      this.#down.set(dependency, reason)
      this.#logger.warn({ dependency, reason, err: error }, 'dependency cannot be worked with')
    }
  }
}
