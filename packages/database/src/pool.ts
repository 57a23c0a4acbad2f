import { context } from '@opentelemetry/api'
import pg from 'pg'
import { splitDatabaseUrl } from '@open-payments-server/runtime/configuration'
import type { ConnectionRules } from './limited-client.js'
import { isCommittingAlone } from './errors.js'
import { type HostChoice, Primary, PrimaryClient } from './primary.js'
import { assertFit, type Durability, readServerState, type ServerState } from './server-state.js'
import { Succession } from './succession.js'

/**
 * How much longer than the server's own limit to wait for an answer before the connection counts as dead, in milliseconds.
 */
const answerGraceMs = 2_000

/**
 * How long an idle connection is kept: longer than the pauses of a busy day. A new one costs a PostgreSQL process, a
 * handshake, and preparing and planning every statement anew, just when many requests arrive.
 */
const idleMs = 300_000

/**
 * Statements are planned once per connection, without regard to their values. By default PostgreSQL plans those with arrays
 * anew each time, because the arrays are shorter than it assumes, and that costs more than executing them. Every statement
 * has an index to use. On a table that was small when PostgreSQL last analyzed it, it would read all of it instead, and
 * keep that plan while the table grows. `infra/prove/growth` checks that every such plan reads no more than it must. None is
 * worth compiling to machine code, which takes longer than executing it.
 */
const planning = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off'

/** Prisma reads and writes instants without their time zone, as if it were always this one. */
const timeZone = '-c TimeZone=UTC'

/**
 * What is between a service and its database. `transaction` is a pooler that gives every transaction any free session, such
 * as PgBouncer in transaction mode: no session state can be used. Statements are then not prepared by name, and the
 * server's timeouts must be set on the role.
 */
export type Pooler = 'none' | 'transaction'

/** How a service connects to its database. */
export interface PoolOptions {
  /** `postgresql://user:password@host:port/database?sslmode=…`, with one host or several (`splitDatabaseUrl`) */
  readonly url: string
  /** Who else keeps what is committed; default `accept-loss`. A connection to a server that does not keep it so fails. */
  readonly durability?: Durability | undefined
  /** Called with what the server of each new connection is. */
  readonly onConnected?: (server: ServerState) => void
  /** Called with what a primary is that is refused, because it does not keep what it commits as it must. */
  readonly onCommittingAlone?: (server: ServerState) => void
  /** Maximum number of connections; further work waits for a free one. */
  readonly connectionsMax: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** The server cancels a statement, and ends a session that idles inside a transaction, after this long. */
  readonly statementTimeoutMs: number
  /** What is between the service and the database; default `none`. See {@link Pooler}. */
  readonly pooler?: Pooler
  /** How long to wait for a connection, new or free. */
  readonly connectTimeoutMs: number
  /** Called for connections that broke while idle. They are replaced in any case. */
  readonly onIdleConnectionLost?: (error: Error) => void
}

/** The connections of a service, and their metrics. Statements go through its `PrismaClient`. */
export type DatabasePool = pg.Pool

/**
 * The pool of a service, beneath its `PrismaClient` (`createPrismaAdapter`). Connects lazily. Whoever creates it closes it.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const { durability = 'accept-loss' } = options
  const urls = splitDatabaseUrl(options.url) ?? [options.url]
  const primary = urls.length > 1 ? new Primary(urls) : undefined
  const succession = new Succession()
  const config: pg.PoolConfig & ConnectionRules & HostChoice = {
    connectionString: urls[0],
    max: options.connectionsMax,
    application_name: options.applicationName,
    Client: PrimaryClient,
    ...(primary === undefined ? {} : { primary }),
    refusesLocalCommits: durability === 'synchronous',
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- pg-pool waits for it; its types do not say so
    onConnect: async (client) => {
      const server = await readServerState(client)
      if (!(client instanceof PrimaryClient)) throw new Error('the pool made another client')
      try {
        assertFit(server, durability)
        succession.add(client, server)
      } catch (error) {
        primary?.forget()
        if (isCommittingAlone(error)) options.onCommittingAlone?.(server)
        throw error
      }
      client.once('end', () => {
        succession.remove(client)
      })
      options.onConnected?.(server)
    },
    ...(options.pooler === 'transaction' ? {} : sessionOptions(options)),
    answerTimeoutMs: options.statementTimeoutMs + answerGraceMs,
    connectionTimeoutMillis: options.connectTimeoutMs,
    idleTimeoutMillis: idleMs,
    keepAlive: true
  }
  const pool = new pg.Pool(config)
  // Without a listener, a database restart would end the process.
  pool.on('error', (error) => options.onIdleConnectionLost?.(error))
  timeConnect(pool)
  return pool
}

/** Maximum duration of a statement that reads whole tables, in milliseconds. */
export const PATIENT_TIMEOUT_MS = 600_000
/** Maximum number of them at a time: others wait. */
const patientConnectionsMax = 2

/**
 * A pool for reading whole tables (`readSnapshot`), whose statements may take much longer than those of requests. Has no
 * connection while unused.
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

/** Observers of how long connections of a pool are waited for. */
const observers = new WeakMap<pg.Pool, (durationSeconds: number) => void>()

/**
 * Observes how long connections of a pool are waited for, until there is one or the wait is given up.
 *
 * @param pool from {@link createPool}
 */
export function observeAcquisition(pool: pg.Pool, observer: (durationSeconds: number) => void): void {
  observers.set(pool, observer)
}

type Connected = Parameters<Parameters<pg.Pool['connect']>[0]>
type Connect = (callback: (...connected: Connected) => void) => void

/** For work that needs its own session. */
function sessionOptions({ statementTimeoutMs }: PoolOptions): pg.PoolConfig {
  return {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    options: `${planning} ${timeZone}`
  }
}

/** Measures how long connections are waited for, those for single statements included. */
function timeConnect(pool: pg.Pool): void {
  // One of its two forms: with a callback it returns nothing.
  const connect = pool.connect.bind(pool) as Connect
  const timed: Connect = (callback) => {
    const startedAt = performance.now()
    // The waiting caller is run by whoever returns a connection, in the middle of that one's work.
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
