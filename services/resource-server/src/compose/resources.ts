import { createPatientPool, createPool, createPrismaAdapter } from '@open-payments-server/database'
import { openTls } from '@open-payments-server/grpc-transport'
import type { Clock, Logger } from '@open-payments-server/runtime'
import { createInProcessStore, createRedisStore, type SharedStore } from '@open-payments-server/shared-store'
import { AUTH_GRPC_TLS, type ResourceServerConfig } from '../config.js'
import { PrismaClient } from '../generated/prisma/client.js'
import { connectAuthServer } from '../grpc/auth-server/connection.js'
import type { Context, ResourceServerOverrides } from './context.js'

/** Longest that one SQL statement may take, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 5_000
/** Longest that a database connection is waited for, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000
/** Longest that one operation of the shared store may take, in milliseconds. */
const SHARED_STORE_TIMEOUT_MS = 500
/** Largest gRPC message, in bytes. */
export const MESSAGE_BYTES_MAX = 4_194_304

export type Resources = Awaited<ReturnType<typeof openResources>>

/**
 * Connections to everything outside the process.
 *
 * @throws ConfigurationError for certificates that cannot be used
 */
export async function openResources(context: Context, overrides: ResourceServerOverrides) {
  const { config, logger, lifecycle, clock } = context
  const tls = await openTls(AUTH_GRPC_TLS, context)
  const poolOptions = {
    url: config.DATABASE_URL.reveal(),
    applicationName: 'resource-server',
    pooler: config.DATABASE_POOLER,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    onIdleConnectionLost: (error: Error) => {
      logger.warn({ err: error }, 'idle database connection lost')
    }
  }
  const pool = createPool({
    ...poolOptions,
    connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS
  })
  const patientPool = createPatientPool(poolOptions)
  const connect = (name: string, on: typeof pool): PrismaClient => {
    const client = new PrismaClient({
      adapter: createPrismaAdapter(on, config.DATABASE_POOLER),
      // Its own limits are shorter than the pool's: a busy database would be answered as one that is away.
      transactionOptions: { maxWait: CONNECT_TIMEOUT_MS, timeout: STATEMENT_TIMEOUT_MS }
    })
    lifecycle.add({
      name,
      async stop() {
        await client.$disconnect()
        await on.end()
      }
    })
    return client
  }
  const database = connect('database', pool)
  const patientDatabase = connect('patient database', patientPool)

  const sharedStore = overrides.sharedStore ?? openSharedStore(config, logger, clock)
  if (overrides.sharedStore === undefined) {
    lifecycle.add({ name: 'shared store', stop: () => sharedStore.close() })
  }

  const authServer = connectAuthServer({
    target: config.AUTH_GRPC_TARGET,
    deadlineMs: config.AUTH_GRPC_DEADLINE_MS,
    messageBytesMax: MESSAGE_BYTES_MAX,
    tls,
    serverName: config.AUTH_GRPC_TLS_SERVER_NAME
  })
  lifecycle.add({
    name: 'auth server connection',
    stop: () => {
      authServer.close()
      return Promise.resolve()
    }
  })
  return { pool, patientPool, database, patientDatabase, sharedStore, authServer, tls }
}

function openSharedStore(config: ResourceServerConfig, logger: Logger, clock: Clock): SharedStore {
  if (config.REDIS_URL === undefined) return createInProcessStore(() => clock.now())
  return createRedisStore({
    url: config.REDIS_URL.reveal(),
    keyPrefix: 'resource-server:',
    commandTimeoutMs: SHARED_STORE_TIMEOUT_MS,
    clock: () => clock.now(),
    aheadMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
    onEvictionPossible: (policy) => {
      logger.warn({ policy }, 'Redis may evict marks of used nonces: set maxmemory-policy to noeviction')
    },
    onConnectionError: (error) => {
      logger.warn({ err: error }, 'shared store connection failed')
    }
  })
}
