import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '@open-payments-server/acceptance'
import { type LocalPostgres, startPostgres } from '@open-payments-server/local-services'
import pg from 'pg'

/** The superuser that the services connect as: not the first one, which can't be refused connections. */
const SERVICES_ROLE = 'services'

// A crash of the process loses nothing that was handed to the operating system, so fsync makes no difference here.
const SETTINGS = {
  max_connections: '60',
  fsync: 'off',
  log_min_messages: 'fatal',
  max_wal_size: '64MB'
}

/** A PostgreSQL for one test, which can crash, restart, and refuse connections. */
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
    const postgres = new RestartablePostgres(directory, server)
    const { password } = new URL(postgres.url)
    await postgres.#administer(
      `create role ${SERVICES_ROLE} login superuser password ${pg.escapeLiteral(password)}`
    )
    return postgres
  }

  /** As a superuser. The same after every restart. */
  get url(): string {
    const url = new URL(this.#server.url)
    url.username = SERVICES_ROLE
    return url.href
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
   * Ends all connections of {@link url}, and refuses further ones with the code of a server that has none left (53300).
   *
   * @returns accepts them again
   */
  async refuseConnections(): Promise<() => Promise<void>> {
    // No limit holds for superusers.
    await this.#administer(`alter role ${SERVICES_ROLE} nosuperuser connection limit 0`)
    // Repeated for those that were just being accepted.
    await eventually(
      'all connections ended',
      async () =>
        (await this.#administer(
          `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${SERVICES_ROLE}'`
        )) === 0
    )
    return async () => {
      await this.#administer(`alter role ${SERVICES_ROLE} superuser connection limit -1`)
    }
  }

  /** Makes the server read-only, like one that is no longer the primary, or writable again. */
  async setReadOnly(readOnly: boolean): Promise<void> {
    await this.#administer(
      `alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`,
      'select pg_reload_conf()'
    )
  }

  /**
   * Runs statements as the first superuser, on a connection of their own.
   *
   * @returns number of rows of the last one
   */
  async #administer(...statements: string[]): Promise<number> {
    const client = new pg.Client({ connectionString: this.#server.url })
    await client.connect()
    try {
      let rows = 0
      for (const statement of statements) rows = (await client.query(statement)).rowCount ?? 0
      return rows
    } finally {
      await client.end()
    }
  }

  async stop(): Promise<void> {
    await this.#server.stop()
    await rm(this.#directory, { recursive: true, force: true })
  }
}
