import { type Logger, within } from '@open-payments-server/runtime'

/** Longest that one dependency is waited for, in milliseconds. */
const CHECK_TIMEOUT_MS = 1_000

/** What is said of a dependency whose check fails. */
const SILENT = 'does not answer'

/** Something that the service needs. */
export interface Dependency {
  readonly name: string
  /** `always`: the service cannot work without it. `at-start`: needed until it was reached once; later only parts depend on it. */
  readonly needed: 'always' | 'at-start'
  /**
   * Looks whether it can be worked with.
   *
   * @returns what is wrong, in fixed words that anybody may read; undefined when nothing is
   * @throws whatever it failed with; only the log is told
   */
  check(): Promise<string | undefined>
}

/** What was found out about one dependency. */
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

/** Knows whether a service can do its work. Each change is logged once, however often it is asked. */
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

  /** Says that the service stops: from now on it is not ready. */
  stop(): void {
    this.#stopping = true
  }

  /** Looks at every dependency. Those who ask at the same time share one look. Never rejects. */
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
