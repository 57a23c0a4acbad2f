import { createPool } from '@open-payments-server/database'
import { createSafeHttpClient } from '@open-payments-server/http-client'
import { startHttpServer } from '@open-payments-server/http-server'
import {
  type Clock,
  createLogger,
  Lifecycle,
  type Logger,
  type Random,
  type RunningService,
  systemClock,
  systemRandom
} from '@open-payments-server/runtime'
import { createInProcessStore, createRedisStore, type SharedStore } from '@open-payments-server/shared-store'
import type { Pool } from 'pg'
import type { AuthServerConfig } from './config.js'
import { parseConfiguredInteraction } from './domain/access.js'
import { createAddresses } from './domain/urls.js'
import { createClientAuthenticator } from './features/authenticate-client/client-authenticator.js'
import { createClientDirectory } from './features/client-directory/client-directory.js'
import { createGrantRepository } from './features/request-grant/repository.js'
import { requestGrantRoute } from './features/request-grant/route.js'
import { createRequestGrantService } from './features/request-grant/service.js'
import { createPublicApp } from './http/public-app.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'
import { createIdentityProviderApp } from './http/identity-provider-app.js'

const STATEMENT_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5_000
const REDIS_COMMAND_TIMEOUT_MS = 2_000
/** How long a document of a client or wallet may take to be fetched. */
const FETCH_TIMEOUT_MS = 5_000
/** Longest document of a client or wallet, in bytes. */
const FETCHED_BYTES_MAX = 131_072
const MS_PER_SECOND = 1_000

/** What tests put in the place of the real thing. */
export interface Overrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
  readonly sharedStore?: SharedStore
}

/** The auth server, running. */
export interface RunningAuthServer extends RunningService {
  /** Port of the public listener. */
  readonly httpPort: number
  /** Port of the identity-provider listener. */
  readonly identityProviderPort: number
  /** The one pool of connections to its database. */
  readonly pool: Pool
}

/** What everything else is made of. */
interface Foundations {
  readonly config: AuthServerConfig
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly sharedStore: SharedStore
  readonly pool: Pool
  readonly lifecycle: Lifecycle
}

/**
 * Starts the auth server: wires everything together and listens.
 *
 * @throws ConfigurationError for settings that are unsafe together; Error when it cannot listen
 */
export async function composeAuthServer(
  config: AuthServerConfig,
  overrides: Overrides = {}
): Promise<RunningAuthServer> {
  refuseUnsafeStart(config)
  const foundations = layFoundations(config, overrides)
  const { lifecycle, pool } = foundations
  try {
    const ports = await listen(foundations)
    return { ...ports, pool, stop: () => lifecycle.stop() }
  } catch (error) {
    await lifecycle.stop()
    throw error
  }
}

function layFoundations(config: AuthServerConfig, overrides: Overrides): Foundations {
  const logger = overrides.logger ?? createLogger({ service: 'auth-server', level: config.LOG_LEVEL })
  const lifecycle = new Lifecycle(logger)
  const pool = createPool({
    url: config.DATABASE_URL.reveal(),
    connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    applicationName: 'auth-server',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    onIdleConnectionLost: (error) => {
      logger.warn({ err: error }, 'database connection lost')
    }
  })
  lifecycle.add({ name: 'database', stop: () => pool.end() })
  const sharedStore = overrides.sharedStore ?? createSharedStore(config, logger)
  if (overrides.sharedStore === undefined) {
    lifecycle.add({ name: 'shared store', stop: () => sharedStore.close() })
  }
  const { clock = systemClock, random = systemRandom } = overrides
  return { config, clock, random, logger, sharedStore, pool, lifecycle }
}

function createSharedStore(config: AuthServerConfig, logger: Logger): SharedStore {
  if (config.REDIS_URL === undefined) return createInProcessStore()
  return createRedisStore({
    url: config.REDIS_URL.reveal(),
    keyPrefix: 'auth-server:',
    commandTimeoutMs: REDIS_COMMAND_TIMEOUT_MS,
    onConnectionError: (error) => {
      logger.warn({ err: error }, 'Redis connection lost')
    }
  })
}

async function listen(
  foundations: Foundations
): Promise<Pick<RunningAuthServer, 'httpPort' | 'identityProviderPort'>> {
  const { config, lifecycle, logger, pool } = foundations
  const graceMs = config.SHUTDOWN_GRACE_SECONDS * MS_PER_SECOND
  const checkReady = async (): Promise<void> => {
    await pool.query('select 1')
  }
  const publicServer = await startHttpServer(composePublicApp(foundations), {
    host: config.HTTP_HOST,
    port: config.HTTP_PORT
  })
  lifecycle.add({ name: 'public listener', stop: () => publicServer.stop(graceMs) })
  const identityProviderServer = await startHttpServer(createIdentityProviderApp(checkReady, logger), {
    host: config.IDENTITY_PROVIDER_HOST,
    port: config.IDENTITY_PROVIDER_PORT
  })
  lifecycle.add({ name: 'identity-provider listener', stop: () => identityProviderServer.stop(graceMs) })
  return { httpPort: publicServer.port, identityProviderPort: identityProviderServer.port }
}

function composePublicApp(foundations: Foundations): ReturnType<typeof createPublicApp> {
  const { config, clock, random, logger, sharedStore, pool, lifecycle } = foundations
  const httpClient = createSafeHttpClient({
    allowPrivateNetworks: config.ENVIRONMENT === 'development',
    timeoutMs: FETCH_TIMEOUT_MS,
    bodyBytesMax: FETCHED_BYTES_MAX,
    userAgent: 'open-payments-server'
  })
  lifecycle.add({ name: 'HTTP client', stop: () => httpClient.close() })
  const directory = createClientDirectory({
    httpClient,
    clock,
    lifetimeMaxSeconds: config.CLIENT_KEYS_CACHE_SECONDS
  })
  const authenticator = createClientAuthenticator({
    directory,
    sharedStore,
    clock,
    policy: {
      ageMaxSeconds: config.SIGNATURE_AGE_MAX_SECONDS,
      futureMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
      tagRequired: config.SIGNATURE_TAG_REQUIRED,
      authorizationRequired: false
    }
  })
  const requestGrant = createRequestGrantService({
    authenticator,
    directory,
    clock,
    random,
    repository: createGrantRepository(pool),
    addresses: createAddresses(config.PUBLIC_URL),
    configuredInteraction: parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR),
    allowHttp: config.ENVIRONMENT === 'development',
    tokenLifetimeSeconds: config.ACCESS_TOKEN_LIFETIME_SECONDS,
    interactionLifetimeSeconds: config.INTERACTION_LIFETIME_SECONDS,
    continuationWaitSeconds: config.CONTINUATION_WAIT_SECONDS
  })
  return createPublicApp(
    { requestGrant: requestGrantRoute(requestGrant, authenticator, config.PUBLIC_URL) },
    logger
  )
}
