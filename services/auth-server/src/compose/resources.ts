import { openTls } from '@open-payments-server/grpc-transport'
import { createSafeHttpClient } from '@open-payments-server/http-client'
import { GRPC_LISTENER_TLS } from '@open-payments-server/runtime/configuration'
import { openStores } from '@open-payments-server/service-kit/stores'
import { PrismaClient } from '../generated/prisma/client.js'
import type { AuthServerOverrides, Context } from './context.js'

/** Maximum duration of fetching a document of a client or wallet, in milliseconds. */
const FETCH_TIMEOUT_MS = 5_000
/** Maximum size of a document of a client or wallet, in bytes. */
const FETCHED_BYTES_MAX = 131_072

export type Resources = Awaited<ReturnType<typeof openResources>>

/**
 * Connections to everything outside the process.
 *
 * @throws ConfigurationError for certificates that cannot be used
 */
export async function openResources(context: Context, overrides: AuthServerOverrides) {
  const { config, lifecycle } = context
  const listenerTls = await openTls(GRPC_LISTENER_TLS, context)
  const stores = openStores(context, {
    service: 'auth-server',
    createClient: (options) => new PrismaClient(options),
    sharedStore: overrides.sharedStore
  })

  const httpClient = createSafeHttpClient({
    allowPrivateNetworks: config.ENVIRONMENT === 'development',
    timeoutMs: FETCH_TIMEOUT_MS,
    bodyBytesMax: FETCHED_BYTES_MAX,
    userAgent: 'open-payments-server',
    ownOrigins: config.WALLET_ADDRESS_ORIGINS
  })
  lifecycle.add({ name: 'HTTP client', stop: () => httpClient.close() })
  return { ...stores, httpClient, listenerTls }
}
