import { fileURLToPath } from 'node:url'
import { GRPC_LISTENER_TLS } from '@open-payments-server/configuration'
import { createPatientPool, createPool, createPrismaAdapter } from '@open-payments-server/database'
import { openTls } from '@open-payments-server/grpc-transport'
import { databaseDependency, Readiness } from '@open-payments-server/health'
import { startHttpServer } from '@open-payments-server/http-server'
import { describeEd25519Library } from '@open-payments-server/http-signatures'
import { Metrics, publishCertificates, startMetricsServer } from '@open-payments-server/metrics'
import { createPurge, createPurgeRepository, createPurgeWorker } from '@open-payments-server/purge'
import {
  type Clock,
  createLogger,
  Lifecycle,
  Listeners,
  type Logger,
  type Random,
  type RunningService,
  systemClock,
  systemRandom
} from '@open-payments-server/runtime'
import {
  countErrors,
  createInProcessStore,
  createRedisStore,
  type SharedStore
} from '@open-payments-server/shared-store'
import type { Pool } from 'pg'
import { startCounting } from './compose/counters.js'
import type { Foundations } from './compose/foundations.js'
import { openHttpClient } from './compose/http-client.js'
import { startRateLimits } from './compose/rate-limits.js'
import { composeIdentityProviderApp, composePublicRoutes } from './compose/routes.js'
import { measureTransports } from './compose/transports.js'
import type { AuthServerConfig } from './config.js'
import { parseConfiguredInteraction } from './domain/access.js'
import { PURGED_KINDS, type PurgeCounter } from './domain/purge-counter.js'
import { HeldTokens } from './domain/held-tokens.js'
import { createAddresses } from './domain/urls.js'
import { createClientAuthenticator } from './features/authenticate-client/client-authenticator.js'
import { createHolderAuthorizer } from './features/authorize-holder/holder-authorizer.js'
import { createContinuableGrants } from './features/authorize-holder/find-grants.js'
import { createPurgeStatements } from './features/purge-grants/purge-statements.js'
import { attachAnswers, countClients } from './features/limit-clients/counted-clients.js'
import { limitFetches } from './features/limit-clients/limited-fetches.js'
import { PrismaClient } from './generated/prisma/client.js'
import { startAuthGrpcServer } from './grpc/server.js'
import { createGrpcServices } from './grpc/services.js'
import { createPublicApp } from './http/public-app.js'
import { createClientDirectory } from './modules/clients/index.js'
import { createInteractionReader } from './modules/interactions/index.js'
import { createManagedTokens, createRevocationBus } from './modules/tokens/index.js'
import { countFailures } from './metrics/authentication-metrics.js'
import { countFetches } from './metrics/directory-metrics.js'
import { publishPurge } from './metrics/purge-metrics.js'
import { publishReservations } from './metrics/reservation-metrics.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

const MIGRATIONS_PATH = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
const STATEMENT_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5_000
const REDIS_COMMAND_TIMEOUT_MS = 2_000
const MS_PER_SECOND = 1_000
const SECONDS_PER_HOUR = 3_600
/** Code of requests that cannot be read. */
const BAD_REQUEST_CODE = 'invalid_request'

/** What tests put in the place of the real thing. What is given here is not closed when the server stops. */
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
  /** Port of the gRPC listener. */
  readonly grpcPort: number
  /** Port of the metrics listener; undefined when there is none. */
  readonly metricsPort: number | undefined
  /** The one pool of connections to its database. */
  readonly pool: Pool
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
  const foundations = await layFoundations(config, overrides)
  const { lifecycle, pool, readiness } = foundations
  try {
    const { countPurged, port: metricsPort } = await startMetrics(foundations)
    startPurge(foundations, countPurged)
    const ports = await listen(foundations)
    const stop = (): Promise<void> => {
      readiness.stop()
      return lifecycle.stop()
    }
    return { ...ports, metricsPort, pool, stop }
  } catch (error) {
    await lifecycle.stop()
    throw error
  }
}

async function layFoundations(config: AuthServerConfig, overrides: Overrides): Promise<Foundations> {
  const { clock = systemClock, random = systemRandom } = overrides
  const logger = overrides.logger ?? createLogger({ service: 'auth-server', level: config.LOG_LEVEL })
  const lifecycle = new Lifecycle(logger)
  const { pool, prisma, patientDatabase } = openDatabase(config, logger, lifecycle)
  const metrics = new Metrics({ logger })
  const counters = startCounting(metrics)
  const sharedStore = countErrors(
    overrides.sharedStore ?? openSharedStore(config, logger, lifecycle, clock),
    counters.countStoreError
  )
  const rateLimits = await startRateLimits({ config, lifecycle, logger, metrics, clock })
  const httpClient = countFetches(openHttpClient(config, lifecycle), metrics)
  const directory = createClientDirectory({
    httpClient: rateLimits === undefined ? httpClient : limitFetches(httpClient, rateLimits),
    clock,
    logger,
    lifetimeMaxSeconds: config.CLIENT_KEYS_CACHE_SECONDS,
    staleKeysSeconds: config.CLIENT_KEYS_STALE_SECONDS,
    countKeyLookup: counters.countKeyLookup
  })
  const policy = {
    ageMaxSeconds: config.SIGNATURE_AGE_MAX_SECONDS,
    futureMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
    tagRequired: config.SIGNATURE_TAG_REQUIRED,
    authorizationRequired: false,
    releasedClientForms: config.SIGNATURE_RELEASED_CLIENT_FORMS
  }
  const countVerified = rateLimits && countClients(rateLimits)
  const authenticator = attachAnswers(
    countFailures(
      createClientAuthenticator({ directory, sharedStore, policy, clock, countVerified }),
      counters.countAuthenticationFailure
    )
  )
  const addresses = createAddresses(config.PUBLIC_URL)
  const heldTokens = new HeldTokens()
  return {
    config,
    lifecycle,
    logger,
    metrics,
    counters,
    transports: measureTransports(config, metrics, pool),
    readiness: new Readiness({ dependencies: [databaseDependency(prisma, MIGRATIONS_PATH)], logger }),
    rateLimits,
    pool,
    prisma,
    patientDatabase,
    directory,
    authenticator,
    revocations: createRevocationBus(sharedStore, logger),
    holders: createHolderAuthorizer(
      { findGrant: createContinuableGrants(prisma), findToken: createManagedTokens(prisma) },
      authenticator,
      heldTokens
    ),
    heldTokens,
    interactions: createInteractionReader(prisma),
    tokens: { clock, random, addresses, tokenLifetimeSeconds: config.ACCESS_TOKEN_LIFETIME_SECONDS }
  }
}

function openDatabase(
  config: AuthServerConfig,
  logger: Logger,
  lifecycle: Lifecycle
): Pick<Foundations, 'pool' | 'prisma' | 'patientDatabase'> {
  const options = {
    url: config.DATABASE_URL.reveal(),
    applicationName: 'auth-server',
    pooler: config.DATABASE_POOLER,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    onIdleConnectionLost: (error: Error) => {
      logger.warn({ err: error }, 'database connection lost')
    }
  }
  const pool = createPool({
    ...options,
    connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS
  })
  const connect = (name: string, on: Pool): PrismaClient => {
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
  return {
    pool,
    prisma: connect('database', pool),
    patientDatabase: connect('patient database', createPatientPool(options))
  }
}

function openSharedStore(
  config: AuthServerConfig,
  logger: Logger,
  lifecycle: Lifecycle,
  clock: Clock
): SharedStore {
  const now = (): number => clock.now()
  const sharedStore =
    config.REDIS_URL === undefined
      ? createInProcessStore(now)
      : createRedisStore({
          url: config.REDIS_URL.reveal(),
          keyPrefix: 'auth-server:',
          commandTimeoutMs: REDIS_COMMAND_TIMEOUT_MS,
          clock: now,
          aheadMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
          onEvictionPossible: (policy) => {
            logger.warn(
              { policy },
              'Redis may evict marks of used nonces: set maxmemory-policy to noeviction'
            )
          },
          onConnectionError: (error) => {
            logger.warn({ err: error }, 'Redis connection lost')
          }
        })
  lifecycle.add({ name: 'shared store', stop: () => sharedStore.close() })
  return sharedStore
}

/** Begins to count, and listens for scrapes where a port is given. */
async function startMetrics({
  config,
  lifecycle,
  logger,
  metrics,
  pool
}: Foundations): Promise<{ countPurged: PurgeCounter; port: number | undefined }> {
  publishReservations(metrics, pool)
  const countPurged = publishPurge(metrics)
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  if (port === undefined) return { countPurged, port }
  const server = await startMetricsServer(metrics, { host, port, logger })
  lifecycle.add(server)
  return { countPurged, port: server.port }
}

function startPurge(
  { config, lifecycle, logger, prisma, tokens, counters }: Foundations,
  countPurged: PurgeCounter
): void {
  const { PURGE_INTERVAL_SECONDS: intervalSeconds, PURGE_RETENTION_DAYS: retentionDays } = config
  if (intervalSeconds === 0) return
  const retention = {
    undecidedSeconds: config.PURGE_UNDECIDED_HOURS * SECONDS_PER_HOUR,
    unconsentedSeconds: config.PURGE_UNCONSENTED_HOURS * SECONDS_PER_HOUR
  }
  const repository = createPurgeRepository(prisma, createPurgeStatements(retention))
  const purgeBatch = createPurge({
    repository,
    kinds: PURGED_KINDS,
    clock: tokens.clock,
    retentionDays,
    countPurged
  })
  const onBatchFailed = (): void => {
    counters.countFailedBatch('purge')
  }
  lifecycle.add(createPurgeWorker({ purgeBatch, intervalSeconds, logger, onBatchFailed }))
}

async function listen(
  foundations: Foundations
): Promise<Omit<RunningAuthServer, 'metricsPort' | 'pool' | 'stop'>> {
  const { config, lifecycle, logger, rateLimits, pool, prisma, revocations, directory, tokens, counters } =
    foundations
  const listeners = new Listeners({
    delayMs: config.SHUTDOWN_DELAY_SECONDS * MS_PER_SECOND,
    graceMs: config.SHUTDOWN_GRACE_SECONDS * MS_PER_SECOND
  })
  lifecycle.add(listeners)

  const tls = await openTls(GRPC_LISTENER_TLS, foundations)
  publishCertificates(foundations.metrics, [tls])
  const grpcServer = await startAuthGrpcServer({
    config,
    tls,
    logger,
    services: createGrpcServices({
      pool,
      prisma,
      patientDatabase: foundations.patientDatabase,
      revocations,
      logger,
      clock: tokens.clock,
      clientDirectory: directory,
      configuredInteraction: parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR),
      config,
      counters,
      callObserver: foundations.transports?.grpcServer
    })
  })
  listeners.add(grpcServer)

  const identityProviderServer = await startHttpServer(composeIdentityProviderApp(foundations), {
    host: config.IDENTITY_PROVIDER_HOST,
    port: config.IDENTITY_PROVIDER_PORT,
    badRequestCode: BAD_REQUEST_CODE,
    logger
  })
  listeners.add(identityProviderServer)
  foundations.transports?.watchListener('identity-provider', identityProviderServer)
  const publicApp = createPublicApp(composePublicRoutes(foundations), {
    logger,
    requestObserver: foundations.transports?.http.public,
    admit: rateLimits?.admit,
    trustedProxies: config.TRUSTED_PROXIES
  })
  const publicServer = await startHttpServer(publicApp, {
    host: config.HTTP_HOST,
    port: config.HTTP_PORT,
    connectionsMax: config.HTTP_CONNECTIONS_MAX,
    badRequestCode: BAD_REQUEST_CODE,
    logger
  })
  listeners.add(publicServer)
  foundations.transports?.watchListener('public', publicServer)
  logger.info(
    {
      port: publicServer.port,
      identityProviderPort: identityProviderServer.port,
      ed25519Library: describeEd25519Library()
    },
    'HTTP servers listen'
  )
  return {
    httpPort: publicServer.port,
    identityProviderPort: identityProviderServer.port,
    grpcPort: grpcServer.port
  }
}
