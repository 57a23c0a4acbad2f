import { readFile } from 'node:fs/promises'
import { openTls } from '@open-payments-server/grpc-transport'
import {
  createPostClient,
  createSafeHttpClient,
  parseNetworks,
  systemLookup
} from '@open-payments-server/http-client'
import { ConfigurationError, grpcClientTls, redisPlaceOf } from '@open-payments-server/runtime/configuration'
import { openSharedStore } from '@open-payments-server/shared-store'
import { hasListener } from '../config.js'
import { connectAuthServer } from '../grpc/auth-server.js'
import { connectResourceServer } from '../grpc/resource-server.js'
import type { ServiceTarget } from '../grpc/service-target.js'
import type { ServiceName } from '../features/operated.js'
import type { Context, WebOverrides } from './context.js'

/** Maximum duration of a request to the issuer or the auth server, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000
/** Maximum size of an answer, in bytes. */
const BODY_BYTES_MAX = 1_048_576
/** Maximum number of connections to one host. */
const CONNECTIONS_MAX = 32
/** Longest that one operation of the shared store may take, in milliseconds: every page waits for one. */
const SHARED_STORE_TIMEOUT_MS = 500
/** All of them: an operator names whom this asks, and nobody else can choose. */
const ANY_NETWORK = ['0.0.0.0/0', '::/0']

export type Resources = Awaited<ReturnType<typeof openResources>>

/**
 * Connections to everything outside the process.
 *
 * @throws ConfigurationError for files that cannot be used
 */
export async function openResources(context: Context, overrides: WebOverrides) {
  const { config, lifecycle, clock, logger } = context
  const sharedStore =
    overrides.sharedStore ??
    openSharedStore({
      place: redisPlaceOf(config),
      // Keys of its own, so that Redis can keep the pages in the internet from those of the console.
      service: hasListener(config, 'pages') ? 'web' : 'console',
      commandTimeoutMs: SHARED_STORE_TIMEOUT_MS,
      aheadMaxSeconds: 1,
      clock,
      logger
    })
  if (overrides.sharedStore === undefined)
    lifecycle.add({ name: 'shared store', stop: () => sharedStore.close() })
  const json = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: REQUEST_TIMEOUT_MS,
    bodyBytesMax: BODY_BYTES_MAX,
    userAgent: 'open-payments-server',
    connectionsMax: CONNECTIONS_MAX,
    ownOrigins: [config.AUTH_API_URL, config.ISSUER, config.CONSOLE_ISSUER].flatMap((url) =>
      url === undefined ? [] : new URL(url).origin
    )
  })
  const post = createPostClient({
    privateNetworks: parseNetworks(ANY_NETWORK),
    timeoutMs: REQUEST_TIMEOUT_MS,
    userAgent: 'open-payments-server',
    connectionsMax: CONNECTIONS_MAX,
    lookup: systemLookup
  })
  lifecycle.add({
    name: 'HTTP clients',
    stop: async () => {
      await Promise.all([json.close(), post.close()])
    }
  })
  const targets = await openTargets(context)
  return {
    sharedStore,
    http: { json, post },
    targets,
    ...connectServices(context, targets),
    logo: await readLogo(config.LOGO_FILE)
  }
}

/** How both services are reached. */
async function openTargets(context: Context): Promise<Readonly<Record<ServiceName, ServiceTarget>>> {
  const { config } = context
  return {
    'auth-server': {
      target: config.AUTH_GRPC_TARGET,
      deadlineMs: config.AUTH_GRPC_DEADLINE_MS,
      tls: await openTls(grpcClientTls('AUTH'), context),
      serverName: config.AUTH_GRPC_TLS_SERVER_NAME
    },
    'resource-server': {
      target: config.RESOURCE_GRPC_TARGET,
      deadlineMs: config.RESOURCE_GRPC_DEADLINE_MS,
      tls: await openTls(grpcClientTls('RESOURCE'), context),
      serverName: config.RESOURCE_GRPC_TLS_SERVER_NAME
    }
  }
}

/** Connections over gRPC to both services. */
function connectServices({ lifecycle }: Context, targets: Readonly<Record<ServiceName, ServiceTarget>>) {
  const resourceServer = connectResourceServer(targets['resource-server'])
  const authServer = connectAuthServer(targets['auth-server'])
  lifecycle.add({
    name: 'connections to the services',
    stop: () => {
      resourceServer.close()
      authServer.close()
      return Promise.resolve()
    }
  })
  return { resourceServer, authServer }
}

async function readLogo(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException
    throw new ConfigurationError([`LOGO_FILE: names a file that cannot be read: ${code}`])
  }
}
