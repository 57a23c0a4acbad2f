import {
  type ClientOptions,
  type OpenDatabase,
  openDatabase,
  type PoolOptions
} from '@open-payments-server/database'
import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import { redisPlaceOf, type RedisSettings } from '@open-payments-server/runtime/configuration'
import type { Clock } from '@open-payments-server/value-types/clock'
import { openSharedStore, type SharedStore } from '@open-payments-server/shared-store'
import { DatabaseWatch, startDatabaseWatch } from './database-watch.js'

/** Longest that one SQL statement may take, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 5_000
/** Longest that a database connection is waited for, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000
/** Longest that one operation of the shared store may take, in milliseconds: every signed request waits for one. */
const SHARED_STORE_TIMEOUT_MS = 500

/** What opening the stores of a service takes from its context. */
export interface StoresContext {
  readonly config: RedisSettings & {
    readonly DATABASE_URL: { reveal(): string }
    readonly DATABASE_POOLER: PoolOptions['pooler']
    readonly DATABASE_DURABILITY?: PoolOptions['durability'] | undefined
    readonly DATABASE_CONNECTIONS_MAX: number
    readonly SIGNATURE_FUTURE_MAX_SECONDS: number
  }
  readonly clock: Clock
  readonly logger: Logger
  /** Closes what was opened when the service stops. */
  readonly lifecycle: Pick<Lifecycle, 'add'>
}

/** What a service says of its stores. */
export interface StoresOptions<Client> {
  /** Its name, as the database and Redis are told it. */
  readonly service: string
  /** Makes the service's generated `PrismaClient`. */
  readonly createClient: (options: ClientOptions) => Client
  /** Stands in for the shared store of the settings, and is not closed. */
  readonly sharedStore?: SharedStore | undefined
}

/** What a service keeps its state in, opened. */
export type Stores<Client> = Omit<OpenDatabase<Client>, 'close'> & {
  readonly databaseWatch: DatabaseWatch
  /** Whether a promoted server has every commit that was answered, as DATABASE_DURABILITY says. */
  readonly keepsCommits: boolean
  readonly sharedStore: SharedStore
}

/** Opens a service's database, and what its replicas share. Connects lazily. */
export function openStores<Client extends { $disconnect(): Promise<void> }>(
  { config, clock, logger, lifecycle }: StoresContext,
  options: StoresOptions<Client>
): Stores<Client> {
  const { service, createClient } = options
  const databaseWatch = new DatabaseWatch(logger)
  const { close, ...database } = openDatabase(
    {
      url: config.DATABASE_URL.reveal(),
      durability: config.DATABASE_DURABILITY,
      onConnected: (server) => {
        databaseWatch.observe(server)
      },
      onCommittingAlone: (server) => {
        databaseWatch.observeRefused(server)
      },
      applicationName: service,
      pooler: config.DATABASE_POOLER,
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      onIdleConnectionLost: (error) => {
        logger.warn({ err: error }, 'idle database connection lost')
      }
    },
    createClient
  )
  lifecycle.add({ name: 'database', stop: close })
  lifecycle.add(startDatabaseWatch(databaseWatch, database.pool, logger))
  const { DATABASE_DURABILITY: durability = 'accept-loss' } = config
  const opened = { ...database, databaseWatch, keepsCommits: durability !== 'accept-loss' }
  if (options.sharedStore !== undefined) return { ...opened, sharedStore: options.sharedStore }

  const sharedStore = openSharedStore({
    place: redisPlaceOf(config),
    service,
    commandTimeoutMs: SHARED_STORE_TIMEOUT_MS,
    aheadMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
    clock,
    logger
  })
  lifecycle.add({ name: 'shared store', stop: () => sharedStore.close() })
  return { ...opened, sharedStore }
}
