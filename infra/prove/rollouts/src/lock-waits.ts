import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

const LOOK_INTERVAL_MS = 20

/** Measures how long sessions wait for locks of others. Migrations are left out, because they may wait. */
export class LockWaits {
  readonly #client: pg.Client
  readonly #looking: Promise<void>
  #stopped = false
  #longestMs = 0

  private constructor(client: pg.Client) {
    this.#client = client
    this.#looking = this.#look()
  }

  /** @param url of the database, as its superuser */
  static async watch(url: string): Promise<LockWaits> {
    const client = new pg.Client({ connectionString: url, application_name: 'lock waits' })
    await client.connect()
    return new LockWaits(client)
  }

  async #look(): Promise<void> {
    while (!this.#stopped) {
      const { rows } = await this.#client.query<{ longest: string | null }>(
        `select max(extract(epoch from clock_timestamp() - l.waitstart)) * 1000 as longest
           from pg_locks l join pg_stat_activity a using (pid)
          where not l.granted and a.application_name not like 'migrations%' and a.datname = current_database()`
      )
      this.#longestMs = Math.max(this.#longestMs, Number(rows[0]?.longest ?? 0))
      await delay(LOOK_INTERVAL_MS)
    }
  }

  /** @returns the longest observed wait, in milliseconds */
  async stop(): Promise<number> {
    this.#stopped = true
    await this.#looking
    await this.#client.end()
    return Math.round(this.#longestMs)
  }
}
