import { openDatabase } from '@open-payments-server/database'
import { openTls } from '@open-payments-server/grpc-transport'
import { openSharedStore } from '@open-payments-server/shared-store'
import { AUTH_GRPC_TLS } from '../config.js'
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
  const { close, ...opened } = openDatabase(
    {
      url: config.DATABASE_URL.reveal(),
      applicationName: 'resource-server',
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
      service: 'resource-server',
      commandTimeoutMs: SHARED_STORE_TIMEOUT_MS,
      aheadMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
      clock,
      logger
    })
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
  return { ...opened, sharedStore, authServer, tls }
}
