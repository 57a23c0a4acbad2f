import { openTls } from '@open-payments-server/grpc-transport'
import { GRPC_LISTENER_TLS, grpcClientTls } from '@open-payments-server/runtime/configuration'
import { MESSAGE_BYTES_MAX } from '@open-payments-server/service-kit/grpc'
import { openStores } from '@open-payments-server/service-kit/stores'
import { PrismaClient } from '../generated/prisma/client.js'
import { connectAuthServer } from '../grpc/auth-server/connection.js'
import type { Context, ResourceServerOverrides } from './context.js'

export type Resources = Awaited<ReturnType<typeof openResources>>

/**
 * Connections to everything outside the process.
 *
 * @throws ConfigurationError for certificates that cannot be used
 */
export async function openResources(context: Context, overrides: ResourceServerOverrides) {
  const { config, lifecycle } = context
  const listenerTls = await openTls(GRPC_LISTENER_TLS, context)
  const authServerTls = await openTls(grpcClientTls('AUTH'), context)
  const stores = openStores(context, {
    service: 'resource-server',
    createClient: (options) => new PrismaClient(options),
    sharedStore: overrides.sharedStore
  })

  const authServer = connectAuthServer({
    target: config.AUTH_GRPC_TARGET,
    deadlineMs: config.AUTH_GRPC_DEADLINE_MS,
    messageBytesMax: MESSAGE_BYTES_MAX,
    tls: authServerTls,
    serverName: config.AUTH_GRPC_TLS_SERVER_NAME
  })
  lifecycle.add({
    name: 'auth server connection',
    stop: () => {
      authServer.close()
      return Promise.resolve()
    }
  })
  return { ...stores, authServer, authServerTls, listenerTls }
}
