import { openDatabase } from '@open-payments-server/database'
import { openTls } from '@open-payments-server/grpc-transport'
import { createSafeHttpClient } from '@open-payments-server/http-client'
import { GRPC_LISTENER_TLS } from '@open-payments-server/runtime/configuration'
import { openSharedStore } from '@open-payments-server/shared-store'
import { PrismaClient } from '../generated/prisma/client.js'
import type { AuthServerOverrides, Context } from './context.js'

/** Longest that one SQL statement may take, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 10_000
/** Longest that a database connection is waited for, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000
/** Longest that one operation of the shared store may take, in milliseconds. */
const SHARED_STORE_TIMEOUT_MS = 2_000
/** How long a document of a client or wallet may take to be fetched, in milliseconds. */
const FETCH_TIMEOUT_MS = 5_000
/** Longest document of a client or wallet, in bytes. */
const FETCHED_BYTES_MAX = 131_072

export type Resources = Awaited<ReturnType<typeof openResources>>

/**
 * Connections to everything outside the process.
 *
 * @throws ConfigurationError for certificates that cannot be used
 */
export async function openResources(context: Context, overrides: AuthServerOverrides) {
  const { config, logger, lifecycle, clock } = context
  const tls = await openTls(GRPC_LISTENER_TLS, context)
  const { close, ...opened } = openDatabase(
    {
      url: config.DATABASE_URL.reveal(),
      applicationName: 'auth-server',
      pooler: config.DATABASE_POOLER,
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      onIdleConnectionLost: (error: Error) => {
        logger.warn({ err: error }, 'idle database connection lost')
      }
    },
    (options) => new PrismaClient(options)
  )
  lifecycle.add({ name: 'database', stop: close })

  const sharedStore =
    overrides.sharedStore ??
    openSharedStore({
      url: config.REDIS_URL?.reveal(),
      service: 'auth-server',
      commandTimeoutMs: SHARED_STORE_TIMEOUT_MS,
      aheadMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
      clock,
      logger
    })
  if (overrides.sharedStore === undefined) {
    lifecycle.add({ name: 'shared store', stop: () => sharedStore.close() })
  }

  const httpClient = createSafeHttpClient({
    allowPrivateNetworks: config.ENVIRONMENT === 'development',
    timeoutMs: FETCH_TIMEOUT_MS,
    bodyBytesMax: FETCHED_BYTES_MAX,
    userAgent: 'open-payments-server',
    ownOrigins: config.WALLET_ADDRESS_ORIGINS
  })
  lifecycle.add({ name: 'HTTP client', stop: () => httpClient.close() })
  return { ...opened, sharedStore, httpClient, tls }
}
