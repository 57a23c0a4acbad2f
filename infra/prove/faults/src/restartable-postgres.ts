import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isUnavailable } from '@open-payments-server/database'
import { type LocalPostgres, startPostgres } from '@open-payments-server/local-services'
import pg from 'pg'

const CONNECTIONS_MAX = 60
const TAKEN_AT_ONCE = 20
/** Name of the sessions that take all connections. */
const TAKER = 'taker'

// A crash of the process loses nothing that was handed to the operating system, so fsync makes no difference here.
const SETTINGS = {
  max_connections: String(CONNECTIONS_MAX),
  fsync: 'off',
  log_min_messages: 'fatal',
  max_wal_size: '64MB'
}

/** A PostgreSQL for one test, which can crash, restart, and run out of connections. */
export class RestartablePostgres {
  readonly #directory: string
  #server: LocalPostgres

  private constructor(directory: string, server: LocalPostgres) {
    this.#directory = directory
    this.#server = server
  }

  /** @param parent folder of its data; default: the system's temporary folder */
  static async start(parent?: string): Promise<RestartablePostgres> {
    const directory = await mkdtemp(
      join(parent ?? (await realpath(tmpdir())), 'open-payments-database-test-')
    )
    const server = await startPostgres({ directory, persistent: true, settings: SETTINGS })
    return new RestartablePostgres(directory, server)
  }

  /** As its superuser. The same after every restart. */
  get url(): string {
    return this.#server.url
  }

  /** Kills the server while its clients are active. */
  async crash(): Promise<void> {
    await this.#server.crash()
  }

  /** Resolves when the server has ended, for whatever reason. */
  get ended(): Promise<unknown> {
    return this.#server.ended
  }

  /** Starts again after a crash, on the same port; resolves once connections are accepted. */
  async restart(): Promise<void> {
    const port = Number(new URL(this.url).port)
    this.#server = await startPostgres({
      directory: this.#directory,
      port,
      persistent: true,
      settings: SETTINGS
    })
  }

  /**
   * Takes every connection, including those of others.
   *
   * @returns gives them back
   */
  async takeAllConnections(): Promise<() => Promise<void>> {
    const taken: pg.Client[] = []
    let othersHad: number
    do {
      // Several at a time, because clients reconnect just as fast.
      const attempts = await Promise.all(Array.from({ length: TAKEN_AT_ONCE }, () => this.#takeConnection()))
      taken.push(...attempts.filter((client) => client !== undefined))
      const [first] = taken
      if (first === undefined) throw new Error('not one connection could be taken')
      const { rowCount } = await first.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where backend_type = 'client backend' and application_name <> '${TAKER}'`
      )
      othersHad = rowCount ?? 0
    } while (othersHad > 0 || taken.length < CONNECTIONS_MAX)
    return async () => {
      await Promise.all(taken.map((client) => client.end()))
    }
  }

  /** @returns undefined when there is none left */
  async #takeConnection(): Promise<pg.Client | undefined> {
    const client = new pg.Client({ connectionString: this.url, application_name: TAKER })
    client.on('error', () => undefined) // told by the query that fails
    try {
      await client.connect()
      return client
    } catch (error) {
      if (isUnavailable(error)) return undefined
      throw error
    }
  }

  /** Makes the server read-only, like one that is no longer the primary, or writable again. */
  async setReadOnly(readOnly: boolean): Promise<void> {
    const client = new pg.Client({ connectionString: this.url })
    await client.connect()
    await client.query(`alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`)
    await client.query('select pg_reload_conf()')
    await client.end()
  }

  async stop(): Promise<void> {
    await this.#server.stop()
    await rm(this.#directory, { recursive: true, force: true })
  }
}
