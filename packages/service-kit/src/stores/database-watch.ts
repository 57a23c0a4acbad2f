import { type DatabasePool, readServerState, type ServerState } from '@open-payments-server/database'
import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'

/** How often the database is looked at, in milliseconds, besides at every new connection. */
const LOOK_MS = 5_000

/** What the database is, as far as its connections have told, and whether another server took its place. */
export class DatabaseWatch {
  readonly #logger: Pick<Logger, 'warn'>
  readonly #listeners: (() => void)[] = []
  #server: ServerState | undefined
  #newestTimeline: string | undefined

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger
  }

  /** Whether it answers a commit only once a standby has it; undefined until it was reached. */
  get waitsForStandby(): boolean | undefined {
    return this.#server?.waitsForStandby
  }

  /** Calls back whenever another server has taken its place: what the former one committed last may be missing. */
  onPromoted(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Takes note of what a primary is that no connection is made to: it waits for no standby. */
  observeRefused(server: ServerState): void {
    this.#server = server
  }

  /** Takes note of what the server of a connection is. */
  observe(server: ServerState): void {
    this.#server = server
    const { timeline } = server
    const before = this.#newestTimeline
    // Connections to a former primary that does not know yet tell the older one.
    if (timeline === undefined || (before !== undefined && timeline <= before)) return
    this.#newestTimeline = timeline
    if (before === undefined) return
    this.#logger.warn({ timeline, before }, 'another server took the place of the database')
    for (const listener of this.#listeners) listener()
  }
}

/** Looks at the database from time to time: through a pooler, a new connection does not tell of another server. */
export function startDatabaseWatch(watch: DatabaseWatch, pool: DatabasePool, logger: Logger): Worker {
  return startWorker({
    name: 'database watch',
    pollMs: LOOK_MS,
    logger,
    async runBatch() {
      watch.observe(await readServerState(pool))
      return false
    }
  })
}
