import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ConnectedSystem,
  connectToSystem,
  planSystem,
  type ServiceName,
  ServiceProcess,
  type ServiceProcessOptions,
  type Settings,
  type SystemPlan
} from '@open-payments-server/acceptance'
import { fillDatabases } from '@open-payments-server/growth'
import { findFreePort, startPostgres, startRedis } from '@open-payments-server/local-services'
import { systemClock } from '@open-payments-server/runtime'
import { Redis } from 'ioredis'
import pg from 'pg'
import { Floors } from './floors/floors.js'
import { Generator } from './generator/generator.js'
import { parentOf, type ProcessGroups } from './process-usage.js'

/** Options of a stack. */
export interface StackOptions {
  /** Number of payments and grants in the databases before anything is measured. */
  readonly rows: number
  /** Number of replicas of each service. */
  readonly replicas: number
  /** Whether rate limits are on, with limits that nothing here reaches. */
  readonly rateLimits: boolean
  /** Whether the services can be profiled, and their heaps measured. */
  readonly inspected: boolean
  /** Further settings of the resource server; none unless given. */
  readonly resource?: Settings
}

const MILLISECONDS_PER_DAY = 86_400_000
const GROWN_DAYS = 90
const WALLETS_MAX = 20_000
const UNREACHED = '1000000000'

/** Durability is PostgreSQL's default: `fsync` and `synchronous_commit` are on. Nothing is tuned. */
const POSTGRES_SETTINGS = {
  max_connections: '200',
  shared_preload_libraries: 'pg_stat_statements'
}

/** PostgreSQL's statistics of a statement since its start. */
export interface StatementTime {
  readonly text: string
  readonly calls: number
  readonly milliseconds: number
}

/** The target of requests: a service over HTTP, where the resource server takes packets, or the auth server's introspection over gRPC. */
export type CallTarget = 'auth' | 'resource' | 'packets' | 'introspection'

/** A service that runs for the bench. */
interface StackServiceOptions extends ServiceProcessOptions {
  /** Its number among all replicas. */
  readonly name: string
}

/** Both services as production builds, with their databases, Redis where there is one, the floors and the generator. */
export interface Stack {
  readonly system: ConnectedSystem
  readonly services: readonly ServiceProcess<StackServiceOptions>[]
  /** Time until each service was ready, by name. */
  readonly startMs: Readonly<Record<string, number>>
  readonly floors: Floors
  readonly generator: Generator
  /** Processes by group, for CPU times. */
  readonly groups: ProcessGroups
  /** Whether the services share a Redis. */
  readonly hasRedis: boolean
  /** Addresses of a service: the origin of every replica, or for introspection its gRPC address. */
  targetsOf(target: CallTarget): string[]
  /** SQL statements that the services have sent so far, `begin` and `commit` included. */
  statementCount(): Promise<number>
  /** The same by statement, with PostgreSQL's time for each. */
  statementTimes(): Promise<readonly StatementTime[]>
  stop(): Promise<void>
}

type Undo = (() => Promise<unknown> | undefined)[]

/** Starts everything. If something fails, stops what was started. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const undo: Undo = []
  const stop = async (): Promise<void> => {
    for (const one of undo.splice(0).reverse()) await one()
  }
  try {
    return { ...(await assemble(options, undo)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function assemble(options: StackOptions, undo: Undo): Promise<Omit<Stack, 'stop'>> {
  const folder = await mkdtemp(join(tmpdir(), 'open-payments-load-'))
  const remove = (): void => {
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', remove)
  undo.push(async () => {
    process.off('exit', remove)
    remove()
  })
  const postgres = await startPostgres({
    directory: join(folder, 'postgres'),
    persistent: false,
    settings: POSTGRES_SETTINGS
  })
  undo.push(() => postgres.stop())
  const admin = new pg.Client({ connectionString: postgres.url })
  await admin.connect()
  undo.push(() => admin.end())
  await admin.query('create extension pg_stat_statements')
  const redis = await startRedis()
  if (redis !== undefined) undo.push(() => redis.stop())
  else if (options.replicas > 1) throw new Error('replicas need Redis, and there is no redis-server here')

  const plan = await planStack(options, postgres.url, redis?.url)
  const { services, startMs } = await startServices(plan, options, folder, undo)
  const system = await connectToSystem(plan, { clock: systemClock, passSeconds: () => Promise.resolve() })
  undo.push(() => {
    system.close()
    return undefined
  })
  await fill(system, options.rows)
  const floors = await Floors.start(postgres.url)
  undo.push(() => {
    floors.stop()
    return undefined
  })
  const generator = new Generator()
  undo.push(() => {
    generator.stop()
    return undefined
  })
  const idsOf = (name: string) => services.filter((one) => one.options.service === name).map(({ id }) => id)
  return {
    system,
    services,
    startMs,
    floors,
    generator,
    groups: {
      auth: idsOf('auth-server'),
      resource: idsOf('resource-server'),
      postgres: [await postmasterOf(admin)],
      redis: redis === undefined ? [] : [await processOf(redis.url)],
      floors: floors.processIds,
      generator: [generator.processId]
    },
    hasRedis: redis !== undefined,
    targetsOf(target) {
      if (target === 'introspection')
        return plan.authServers.map(({ grpcPort }) => `127.0.0.1:${String(grpcPort)}`)
      if (target === 'packets')
        return plan.resourceServers.map(({ peerPort }) => `http://127.0.0.1:${String(peerPort)}`)
      const instances = target === 'auth' ? plan.authServers : plan.resourceServers
      return instances.map(({ httpPort }) => `http://localhost:${String(httpPort)}`)
    },
    statementCount: async () => (await readStatements(admin)).reduce((sum, { calls }) => sum + calls, 0),
    statementTimes: () => readStatements(admin)
  }
}

/** Statements of the services' databases. */
async function readStatements(admin: pg.Client): Promise<StatementTime[]> {
  const { rows } = await admin.query<StatementTime>(
    `select query as text, sum(calls)::float8 as calls, sum(total_exec_time) as milliseconds from pg_stat_statements
      where dbid in (select oid from pg_database where datname like 'test\\_%') group by query`
  )
  return rows
}

/** Settings as in production, except for certificates (plain HTTP and gRPC) and the waits between a client's calls. */
async function planStack(
  { replicas, rateLimits, resource }: StackOptions,
  postgresUrl: string,
  redisUrl: string | undefined
): Promise<SystemPlan> {
  // The variable from which plans take the Redis of several instances.
  if (redisUrl !== undefined) process.env.TEST_REDIS_URL = redisUrl
  const shared: Settings = {
    LOG_LEVEL: 'info',
    RATE_LIMITS: String(rateLimits),
    RATE_LIMIT_ADDRESS_REQUESTS: UNREACHED,
    RATE_LIMIT_CLIENT_REQUESTS: UNREACHED,
    RATE_LIMIT_WALLET_ADDRESS_REQUESTS: UNREACHED,
    RATE_LIMIT_ADDRESS_ROWS: UNREACHED,
    RATE_LIMIT_CLIENT_ROWS: UNREACHED,
    TRUSTED_PROXIES: '0',
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl })
  }
  const auth = { ...shared, CONTINUATION_WAIT_SECONDS: '0', ACCESS_TOKEN_LIFETIME_SECONDS: '86400' }
  return planSystem({ postgresUrl, instanceCount: replicas, auth, resource: { ...shared, ...resource } })
}

async function startServices(
  plan: SystemPlan,
  { inspected, replicas }: StackOptions,
  folder: string,
  undo: Undo
): Promise<Pick<Stack, 'services' | 'startMs'>> {
  const nameOf = (service: ServiceName, index: number) =>
    replicas === 1 ? service : `${service} ${String(index + 1)}`
  const options = async (service: ServiceName, settings: Settings, readyUrl: string, index: number) => ({
    service,
    name: nameOf(service, index),
    // Not scraped here, but recorded as in production.
    settings: { ...settings, METRICS_PORT: String(await findFreePort()) },
    readyUrl,
    logFile: join(folder, `${service}-${String(index)}.log`),
    inspectorPort: inspected ? await findFreePort() : undefined
  })
  const planned = await Promise.all([
    ...plan.authServers.map(({ settings, readyUrl }, index) =>
      options('auth-server', settings, readyUrl, index)
    ),
    ...plan.resourceServers.map(({ settings, readyUrl }, index) =>
      options('resource-server', settings, readyUrl, index)
    )
  ])
  const services = planned.map((one) => new ServiceProcess<StackServiceOptions>(one))
  const startMs: Record<string, number> = {}
  // One after the other, because start times are measured, too.
  for (const service of services) {
    undo.push(() => service.stop())
    startMs[service.options.name] = await service.start()
  }
  return { services, startMs }
}

async function fill(system: ConnectedSystem, rows: number): Promise<void> {
  if (rows === 0) return
  const now = Date.now()
  await fillDatabases(
    { auth: system.authDatabase.url, resource: system.resourceDatabase.url },
    {
      paymentCount: rows,
      walletCount: Math.min(WALLETS_MAX, Math.max(2, Math.floor(rows / 10))),
      resourceServerUrl: system.resourceServerUrl,
      clients: [system.market.walletAddress, system.walletAddresses.carol],
      beginMs: now - GROWN_DAYS * MILLISECONDS_PER_DAY,
      endMs: now - MILLISECONDS_PER_DAY
    }
  )
}

async function postmasterOf(admin: pg.Client): Promise<number> {
  const { rows } = await admin.query<{ id: number }>('select pg_backend_pid() as id')
  return parentOf(rows[0]?.id ?? 0)
}

async function processOf(redisUrl: string): Promise<number> {
  const redis = new Redis(redisUrl)
  const info = await redis.info('server')
  redis.disconnect()
  return Number(/^process_id:(\d+)/m.exec(info)?.[1])
}
