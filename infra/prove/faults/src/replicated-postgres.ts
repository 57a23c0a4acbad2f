import { execFile } from 'node:child_process'
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '@open-payments-server/acceptance'
import {
  type LocalPostgres,
  startPostgres,
  startTcpProxy,
  type TcpProxy
} from '@open-payments-server/local-services'
import pg from 'pg'

// No power fails here: only what was not sent to the standby is lost.
const SETTINGS = { max_connections: '60', fsync: 'off', log_min_messages: 'fatal' }

/** A PostgreSQL with a standby that can take its place: asynchronous, unless it is told otherwise. */
export class ReplicatedPostgres {
  readonly #parent: string
  readonly #link: TcpProxy
  #primary: LocalPostgres
  readonly #standby: LocalPostgres

  private constructor(parent: string, link: TcpProxy, primary: LocalPostgres, standby: LocalPostgres) {
    this.#parent = parent
    this.#link = link
    this.#primary = primary
    this.#standby = standby
  }

  /** Starts both, the standby on a copy of the primary's files. */
  static async start(): Promise<ReplicatedPostgres> {
    const parent = await mkdtemp(join(await realpath(tmpdir()), 'open-payments-failover-'))
    // PostgreSQL may run as a user of its own, who must get through.
    await chmod(parent, 0o711)
    const [primaryFiles, standbyFiles] = [filesOf(parent, 'primary'), filesOf(parent, 'standby')]
    const first = await startPostgres({ directory: primaryFiles, persistent: true, settings: SETTINGS })
    await first.stop()
    // With modes and owners.
    await promisify(execFile)('cp', ['-a', primaryFiles, standbyFiles])
    await writeFile(join(standbyFiles, 'cluster', 'data', 'standby.signal'), '')
    const primary = await startPostgres({ directory: primaryFiles, persistent: true, settings: SETTINGS })
    const link = await startTcpProxy(primary.url)
    const standby = await startPostgres({
      directory: standbyFiles,
      persistent: true,
      settings: { ...SETTINGS, primary_conninfo: link.url }
    })
    return new ReplicatedPostgres(parent, link, primary, standby)
  }

  /** URL of the current primary, as its superuser. The same after a failover. */
  get url(): string {
    return this.#primary.url
  }

  /** Ends the connections to the primary of these applications. */
  async endConnections(...applications: readonly string[]): Promise<void> {
    await ask(
      this.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name in (${applications
        .map((name) => pg.escapeLiteral(name))
        .join()})`
    )
  }

  /** Resolves when the standby has all that is committed. */
  async whenCaughtUp(): Promise<void> {
    const [at] = await ask<{ lsn: string }>(this.url, 'select pg_current_wal_lsn() as lsn')
    await eventually('the standby has replayed it', async () => {
      const [replayed] = await ask<{ done: boolean }>(
        this.#standby.url,
        `select pg_last_wal_replay_lsn() >= '${String(at?.lsn)}' as done`
      )
      return replayed?.done === true
    })
  }

  /** From now on the standby receives nothing, and the primary continues. */
  async cutReplication(): Promise<void> {
    await this.#link.refuse()
  }

  /** The standby receives again what the primary commits. */
  async restoreReplication(): Promise<void> {
    await this.#link.restore()
  }

  /** Whether the primary answers a commit only once the standby has it. Resolves when new connections see it so. */
  async setSynchronous(isSynchronous: boolean): Promise<void> {
    const names = isSynchronous ? '*' : ''
    await ask(this.url, `alter system set synchronous_standby_names = '${names}'`)
    await ask(this.url, 'select pg_reload_conf()')
    await eventually('it is in force', async () => {
      const [row] = await ask<{ names: string }>(
        this.url,
        `select current_setting('synchronous_standby_names') as names`
      )
      return row?.names === names
    })
  }

  /** Stops the primary, and promotes the standby in its place. */
  async failOver(): Promise<void> {
    const port = Number(new URL(this.url).port)
    await this.#primary.crash()
    await ask(this.#standby.url, 'select pg_promote()')
    await this.#standby.stop()
    this.#primary = await startPostgres({
      directory: filesOf(this.#parent, 'standby'),
      port,
      persistent: true,
      settings: SETTINGS
    })
  }

  async stop(): Promise<void> {
    await Promise.all([this.#primary.stop(), this.#standby.stop(), this.#link.stop()])
    await rm(this.#parent, { recursive: true, force: true })
  }
}

function filesOf(parent: string, of: 'primary' | 'standby'): string {
  return join(parent, of)
}

async function ask<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
