import { fileURLToPath } from 'node:url'
import { GRPC_LISTENER_TLS } from '@open-payments-server/configuration'
import { createPool } from '@open-payments-server/database'
import { openTls } from '@open-payments-server/grpc-transport'
import { databaseDependency, Readiness } from '@open-payments-server/health'
import { startHttpServer } from '@open-payments-server/http-server'
import { Metrics, publishCertificates, startMetricsServer } from '@open-payments-server/metrics'
import type { RateLimits } from '@open-payments-server/rate-limits'
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
import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import { type Counters, startCounting } from './compose/counters.js'
import { openHttpClient } from './compose/http-client.js'
import { startRateLimits } from './compose/rate-limits.js'
import { measureTransports } from './compose/transports.js'
import type { AuthServerConfig } from './config.js'
import { parseConfiguredInteraction } from './domain/access.js'
import type { ClientAuthenticator, HolderAuthorizer } from './domain/authentication.js'
import type { ClientDirectory } from './domain/clients.js'
import { createInteractionCookie } from './domain/interaction-cookie.js'
import type { InteractionReader } from './domain/interactions.js'
import type { TokenMaker } from './domain/issued-token.js'
import type { PurgeCounter } from './domain/purge-counter.js'
import type { RevocationBus } from './domain/revocations.js'
import { createAddresses } from './domain/urls.js'
import { createAcceptGrantRepository } from './features/accept-grant/repository.js'
import { acceptGrantRoute } from './features/accept-grant/route.js'
import { createAcceptGrantService } from './features/accept-grant/service.js'
import { createClientAuthenticator } from './features/authenticate-client/client-authenticator.js'
import { createHolderAuthorizer } from './features/authorize-holder/holder-authorizer.js'
import { createHolderRepository } from './features/authorize-holder/repository.js'
import { createCancelGrantRepository } from './features/cancel-grant/repository.js'
import { cancelGrantRoute } from './features/cancel-grant/route.js'
import { createCancelGrantService } from './features/cancel-grant/service.js'
import { createClientDirectory } from './features/client-directory/client-directory.js'
import { createContinueGrantRepository } from './features/continue-grant/repository.js'
import { continueGrantRoute } from './features/continue-grant/route.js'
import { createContinueGrantService } from './features/continue-grant/service.js'
import { discoverForResourceServersRoute, discoverRoute } from './features/discover/route.js'
import { createInteractionReader } from './features/find-interaction/repository.js'
import { finishInteractionRoute } from './features/finish-interaction/route.js'
import { createFinishInteractionService } from './features/finish-interaction/service.js'
import { createRevocationBus } from './features/publish-revocations/revocation-bus.js'
import { createPurgeRepository } from './features/purge-grants/repository.js'
import { createPurge } from './features/purge-grants/service.js'
import { limitAuthenticator } from './features/limit-clients/limited-authenticator.js'
import { limitFetches } from './features/limit-clients/limited-fetches.js'
import { createRejectGrantRepository } from './features/reject-grant/repository.js'
import { rejectGrantRoute } from './features/reject-grant/route.js'
import { createRejectGrantService } from './features/reject-grant/service.js'
import { createGrantRepository } from './features/request-grant/repository.js'
import { requestGrantRoute } from './features/request-grant/route.js'
import { createRequestGrantService } from './features/request-grant/service.js'
import { createRevokeTokenRepository } from './features/revoke-token/repository.js'
import { revokeTokenRoute } from './features/revoke-token/route.js'
import { createRevokeTokenService } from './features/revoke-token/service.js'
import { createRotateTokenRepository } from './features/rotate-token/repository.js'
import { rotateTokenRoute } from './features/rotate-token/route.js'
import { createRotateTokenService } from './features/rotate-token/service.js'
import { showGrantRoute } from './features/show-grant/route.js'
import { createStartInteractionRepository } from './features/start-interaction/repository.js'
import { startInteractionRoute } from './features/start-interaction/route.js'
import { createStartInteractionService } from './features/start-interaction/service.js'
import { PrismaClient } from './generated/prisma/client.js'
import { startAuthGrpcServer } from './grpc/server.js'
import { createGrpcServices } from './grpc/services.js'
import { createIdentityProviderApp, type IdentityProviderRoutes } from './http/identity-provider-app.js'
import { DONE_PAGE } from './http/pages.js'
import { createPublicApp, type PublicRoutes } from './http/public-app.js'
import { countFailures, countUnresolved } from './metrics/authentication-metrics.js'
import { countFetches } from './metrics/directory-metrics.js'
import { countGrants, countInteractions } from './metrics/grant-metrics.js'
import { publishPurge } from './metrics/purge-metrics.js'
import { publishReservations } from './metrics/reservation-metrics.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'
import { createPurgeWorker } from './workers/purge-worker.js'

const MIGRATIONS_PATH = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
const STATEMENT_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5_000
const REDIS_COMMAND_TIMEOUT_MS = 2_000
const MS_PER_SECOND = 1_000
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

/** What the features are made of. */
interface Foundations {
  readonly config: AuthServerConfig
  readonly lifecycle: Lifecycle
  readonly logger: Logger
  readonly metrics: Metrics
  readonly counters: Counters
  /** Who is told of requests and calls; undefined where nobody may ask. */
  readonly transports: ReturnType<typeof measureTransports>
  readonly readiness: Readiness
  /** How often things may be asked for; undefined where that is not limited. */
  readonly rateLimits: RateLimits | undefined
  readonly pool: Pool
  readonly prisma: PrismaClient
  readonly revocations: RevocationBus
  readonly directory: ClientDirectory
  readonly authenticator: ClientAuthenticator
  readonly holders: HolderAuthorizer
  readonly interactions: InteractionReader
  readonly tokens: TokenMaker
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
  const pool = openPool(config, logger, lifecycle)
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool),
    // Its own limits are shorter than the pool's: a busy database would be answered as one that is away.
    transactionOptions: { maxWait: CONNECT_TIMEOUT_MS, timeout: STATEMENT_TIMEOUT_MS }
  })
  lifecycle.add({ name: 'Prisma', stop: () => prisma.$disconnect() })
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
    authorizationRequired: false
  }
  const unlimited = countFailures(
    createClientAuthenticator({ directory, sharedStore, policy, clock }),
    counters.countAuthenticationFailure
  )
  const authenticator = rateLimits === undefined ? unlimited : limitAuthenticator(unlimited, rateLimits)
  const addresses = createAddresses(config.PUBLIC_URL)
  return {
    config,
    lifecycle,
    logger,
    metrics,
    counters,
    transports: measureTransports(config, metrics, pool),
    readiness: new Readiness({ dependencies: [databaseDependency(pool, MIGRATIONS_PATH)], logger }),
    rateLimits,
    pool,
    prisma,
    directory,
    authenticator,
    revocations: createRevocationBus(sharedStore, logger),
    holders: createHolderAuthorizer(createHolderRepository(pool), authenticator),
    interactions: createInteractionReader(prisma),
    tokens: { clock, random, addresses, tokenLifetimeSeconds: config.ACCESS_TOKEN_LIFETIME_SECONDS }
  }
}

function openPool(config: AuthServerConfig, logger: Logger, lifecycle: Lifecycle): Pool {
  const pool = createPool({
    url: config.DATABASE_URL.reveal(),
    connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    applicationName: 'auth-server',
    pooler: config.DATABASE_POOLER,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    onIdleConnectionLost: (error) => {
      logger.warn({ err: error }, 'database connection lost')
    }
  })
  lifecycle.add({ name: 'database', stop: () => pool.end() })
  return pool
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
  { config, lifecycle, logger, pool, tokens, counters }: Foundations,
  countPurged: PurgeCounter
): void {
  const { PURGE_INTERVAL_SECONDS: intervalSeconds, PURGE_RETENTION_DAYS: retentionDays } = config
  if (intervalSeconds === 0) return
  const repository = createPurgeRepository(pool)
  const purgeBatch = createPurge({ repository, clock: tokens.clock, retentionDays, countPurged })
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
      revocations,
      logger,
      clock: tokens.clock,
      clientDirectory: directory,
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
    beforeBody: rateLimits?.byAddress,
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
    { port: publicServer.port, identityProviderPort: identityProviderServer.port },
    'HTTP servers listen'
  )
  return {
    httpPort: publicServer.port,
    identityProviderPort: identityProviderServer.port,
    grpcPort: grpcServer.port
  }
}

function composePublicRoutes(foundations: Foundations): PublicRoutes {
  const { config, pool, revocations, directory, authenticator, holders, interactions, tokens, logger } =
    foundations
  const { PUBLIC_URL: publicUrl } = config
  const counted = countGrants(foundations.counters)
  const interactive = countInteractions(foundations.counters)
  const { clock, random, addresses } = tokens
  // The browser may finish as long as the client may continue.
  const interactionCookie = createInteractionCookie(
    addresses,
    config.INTERACTION_LIFETIME_SECONDS + config.INTERACTION_REFERENCE_LIFETIME_SECONDS
  )
  const requestGrant = createRequestGrantService({
    ...tokens,
    authenticator,
    directory,
    repository: createGrantRepository(pool),
    configuredInteraction: parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR),
    allowHttp: config.ENVIRONMENT === 'development',
    interactionLifetimeSeconds: config.INTERACTION_LIFETIME_SECONDS,
    continuationWaitSeconds: config.CONTINUATION_WAIT_SECONDS
  })
  const startInteraction = createStartInteractionService({
    interactions,
    repository: createStartInteractionRepository(pool),
    clock,
    random,
    consentPageUrl: config.CONSENT_PAGE_URL
  })
  const finishInteraction = createFinishInteractionService({
    interactions,
    clock,
    grantEndpoint: addresses.grantEndpoint
  })
  const continueGrant = createContinueGrantService({
    ...tokens,
    repository: createContinueGrantRepository(pool),
    continuationWaitSeconds: config.CONTINUATION_WAIT_SECONDS
  })
  const cancelGrant = createCancelGrantService({
    clock,
    revocations,
    repository: createCancelGrantRepository(pool)
  })
  const rotateToken = createRotateTokenService({
    ...tokens,
    revocations,
    logger,
    repository: createRotateTokenRepository(pool)
  })
  const revokeToken = createRevokeTokenService({
    clock,
    revocations,
    repository: createRevokeTokenRepository(pool)
  })
  return {
    requestGrant: requestGrantRoute(
      countUnresolved(counted.requestGrant(requestGrant), foundations.counters.countAuthenticationFailure),
      authenticator,
      publicUrl
    ),
    discover: discoverRoute(addresses.grantEndpoint),
    discoverForResourceServers: discoverForResourceServersRoute(addresses.grantEndpoint),
    startInteraction: startInteractionRoute(
      interactive.startInteraction(startInteraction),
      interactionCookie
    ),
    finishInteraction: finishInteractionRoute(
      interactive.finishInteraction(finishInteraction),
      interactionCookie,
      DONE_PAGE
    ),
    continueGrant: continueGrantRoute(counted.continueGrant(continueGrant), holders, publicUrl),
    cancelGrant: cancelGrantRoute(counted.cancelGrant(cancelGrant), holders, publicUrl),
    rotateToken: rotateTokenRoute(counted.rotateToken(rotateToken), holders, publicUrl),
    revokeToken: revokeTokenRoute(counted.revokeToken(revokeToken), holders, publicUrl)
  }
}

function composeIdentityProviderApp(foundations: Foundations): ReturnType<typeof createIdentityProviderApp> {
  const { config, pool, readiness, interactions, tokens, logger } = foundations
  const { clock, random } = tokens
  const interactive = countInteractions(foundations.counters)
  const acceptRepository = createAcceptGrantRepository(pool)
  const rejectRepository = createRejectGrantRepository(pool)
  const routes: IdentityProviderRoutes = {
    showGrant: showGrantRoute(interactions),
    acceptGrant: acceptGrantRoute(
      interactive.acceptGrant(
        createAcceptGrantService({
          interactions,
          clock,
          random,
          repository: acceptRepository,
          referenceLifetimeSeconds: config.INTERACTION_REFERENCE_LIFETIME_SECONDS,
          finishCodeRequired: config.INTERACTION_FINISH_CODE_REQUIRED
        })
      )
    ),
    rejectGrant: rejectGrantRoute(
      interactive.rejectGrant(createRejectGrantService({ interactions, clock, repository: rejectRepository }))
    )
  }
  return createIdentityProviderApp(routes, {
    logger,
    requestObserver: foundations.transports?.http['identity-provider'],
    secrets: [config.IDENTITY_PROVIDER_SECRET, config.IDENTITY_PROVIDER_SECRET_PREVIOUS].flatMap((secret) =>
      secret === undefined ? [] : [secret.reveal()]
    ),
    readiness
  })
}
