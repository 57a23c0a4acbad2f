import pg from 'pg'

/** How much longer than the server's own limit we wait for an answer, before we call the connection dead. */
const answerGraceMs = 2_000

/** How a service connects to its database. */
export interface PoolOptions {
  /** `postgresql://user:password@host:port/database?sslmode=…` */
  readonly url: string
  /** At most this many connections; further work waits for a free one. */
  readonly connectionsMax: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** The server cancels a statement, and ends a session that idles inside a transaction, after this long. */
  readonly statementTimeoutMs: number
  /** How long to wait for a connection, new or free. */
  readonly connectTimeoutMs: number
  /** Told of connections that broke while idle. They are replaced in any case. */
  readonly onIdleConnectionLost?: (error: Error) => void
}

/**
 * The one pool of a service, for Prisma (`new PrismaPg(pool)`) and for hot statements alike. Connects lazily.
 * Whoever makes it ends it.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connectionsMax,
    application_name: options.applicationName,
    statement_timeout: options.statementTimeoutMs,
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + answerGraceMs,
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true
  })
  // Without a listener, a database restart would end the process.
  pool.on('error', (error) => options.onIdleConnectionLost?.(error))
  // The same for a connection that breaks between two statements of a transaction: its next statement fails and tells.
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
  })
  return pool
}
