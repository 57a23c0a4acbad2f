import { context } from '@opentelemetry/api'
import pg from 'pg'
import type { AnswerLimit } from './limited-client.js'
import { TracedClient } from './traced-client.js'

/** How much longer than the server's own limit we wait for an answer, before we call the connection dead, in milliseconds. */
export const answerGraceMs = 2_000

/**
 * How long a connection is kept that nothing needs: longer than the pauses of a busy day. A new one costs a process of
 * PostgreSQL, a handshake, and every statement prepared and planned anew, just when many requests come at once.
 */
const idleMs = 300_000

/**
 * Statements are planned once for each connection, without regard to their values. Left to itself PostgreSQL plans those that
 * take arrays anew each time, because the arrays are shorter than it takes them for, and that costs more than it takes to carry
 * them out. Every statement has an index to go by; on a table that was small when PostgreSQL last looked, it would read all of it
 * instead, and keep to that while the table grows. `infra/growth` holds every statement's plan of this kind to reading no more
 * than it must.
 */
const planning = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off'

/** Prisma reads and writes instants without their time zone, as if it were always this one. */
const timeZone = '-c TimeZone=UTC'

/**
 * What is between a service and its database. `transaction` is a pooler that gives every transaction whichever session is
 * free, such as PgBouncer in transaction mode: nothing that belongs to a session can be asked for. Statements are then not
 * prepared by name, and the server's time limits must be those of the role.
 */
export type Pooler = 'none' | 'transaction'

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
  /** What is between the service and the database; `none` unless given. See {@link Pooler}. */
  readonly pooler?: Pooler
  /** How long to wait for a connection, new or free. */
  readonly connectTimeoutMs: number
  /** Told of connections that broke while idle. They are replaced in any case. */
  readonly onIdleConnectionLost?: (error: Error) => void
}

/** The connections of a service, and their metrics. Statements go through its `PrismaClient`. */
export type DatabasePool = pg.Pool

/**
 * The pool of a service, beneath its `PrismaClient` (`createPrismaAdapter`). Connects lazily. Whoever makes it ends it.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const config: pg.PoolConfig & AnswerLimit = {
    connectionString: options.url,
    max: options.connectionsMax,
    application_name: options.applicationName,
    Client: TracedClient,
    ...(options.pooler === 'transaction' ? {} : sessionOptions(options)),
    answerTimeoutMs: options.statementTimeoutMs + answerGraceMs,
    connectionTimeoutMillis: options.connectTimeoutMs,
    idleTimeoutMillis: idleMs,
    keepAlive: true
  }
  const pool = new pg.Pool(config)
  // Without a listener, a database restart would end the process.
  pool.on('error', (error) => options.onIdleConnectionLost?.(error))
  // The same for a connection that breaks between two statements of a transaction: its next statement fails and tells.
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
  })
  timeConnect(pool)
  return pool
}

/** Longest that a statement which looks at everything may take, in milliseconds. */
export const PATIENT_TIMEOUT_MS = 600_000
/** Most of them at a time: whoever else wants to look at everything waits. */
const patientConnectionsMax = 2

/**
 * A pool for what looks at everything (`readSnapshot`), whose statements may take much longer than those of requests. Holds no
 * connection while nobody looks.
 */
export function createPatientPool(
  options: Omit<PoolOptions, 'connectionsMax' | 'statementTimeoutMs'>
): pg.Pool {
  return createPool({
    ...options,
    connectionsMax: patientConnectionsMax,
    statementTimeoutMs: PATIENT_TIMEOUT_MS
  })
}

/** Who is told how long connections of a pool are waited for. */
const observers = new WeakMap<pg.Pool, (durationSeconds: number) => void>()

/**
 * Tells whoever wants to know how long connections of a pool are waited for, until there is one or the wait is given up.
 *
 * @param pool from {@link createPool}
 */
export function observeAcquisition(pool: pg.Pool, observer: (durationSeconds: number) => void): void {
  observers.set(pool, observer)
}

type Connected = Parameters<Parameters<pg.Pool['connect']>[0]>
type Connect = (callback: (...connected: Connected) => void) => void

/** What needs a session of one's own. */
function sessionOptions({ statementTimeoutMs }: PoolOptions): pg.PoolConfig {
  return {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    options: `${planning} ${timeZone}`
  }
}

/** Looks at how long connections are waited for, those for single statements included. */
function timeConnect(pool: pg.Pool): void {
  // One of its two forms: with a callback it answers nothing.
  const connect = pool.connect.bind(pool) as Connect
  const timed: Connect = (callback) => {
    const startedAt = performance.now()
    // Who waited is called by whoever gives a connection back, in the middle of what that one does.
    const resume = context.bind(context.active(), callback)
    connect((...connected) => {
      observers.get(pool)?.((performance.now() - startedAt) / 1_000)
      resume(...connected)
    })
  }
  const promised = (): Promise<pg.PoolClient> =>
    new Promise((resolve, reject) => {
      timed((error, client) => {
        if (client === undefined) reject(error ?? new Error('the pool gave no connection'))
        else resolve(client)
      })
    })
  const either = (callback?: Parameters<Connect>[0]) =>
    callback === undefined ? promised() : timed(callback)
  pool.connect = either as typeof pool.connect
}
