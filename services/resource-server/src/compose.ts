import { PrismaPg } from '@prisma/adapter-pg'
import { createPool } from '@open-payments-server/database'
import { startGrpcServer } from '@open-payments-server/grpc-transport'
import { startHttpServer } from '@open-payments-server/http-server'
import { fileDescriptors } from '@open-payments-server/proto'
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
import type { Router } from 'express'
import type { Pool } from 'pg'
import type { ResourceServerConfig } from './config.js'
import { createPaymentMethods } from './domain/incoming-payment.js'
import type { RateProvider } from './domain/rates.js'
import { createResourceUrls } from './domain/resource-urls.js'
import { createRequestAuthorizer } from './features/authorize-request/request-authorizer.js'
import { TokenRecords } from './features/authorize-request/token-records.js'
import { createCompleteIncomingPaymentRoutes } from './features/complete-incoming-payment/routes.js'
import { createIncomingPaymentRoutes } from './features/create-incoming-payment/routes.js'
import { createOutgoingPaymentRoutes } from './features/create-outgoing-payment/routes.js'
import { createLocalReceivers } from './features/create-quote/local-receivers.js'
import { createQuoteRoutes } from './features/create-quote/routes.js'
import { parseFeeTable } from './features/exchange-rates/fee-table.js'
import { createRateProvider } from './features/exchange-rates/rate-provider.js'
import { createGetGrantSpentAmountsRoutes } from './features/get-grant-spent-amounts/routes.js'
import { createGetIncomingPaymentRoutes } from './features/get-incoming-payment/routes.js'
import { createGetOutgoingPaymentRoutes } from './features/get-outgoing-payment/routes.js'
import { createGetQuoteRoutes } from './features/get-quote/routes.js'
import { createListIncomingPaymentsRoutes } from './features/list-incoming-payments/routes.js'
import { createListOutgoingPaymentsRoutes } from './features/list-outgoing-payments/routes.js'
import { createWalletRepository } from './features/operate-wallets/repository.js'
import { createLocalPaymentMethod } from './features/process-outgoing-payments/local-payment-method.js'
import { createWalletAddressKeysRoutes } from './features/serve-wallet-address-keys/routes.js'
import { createWalletAddressRoutes } from './features/serve-wallet-address/routes.js'
import { createWalletAddressDirectory } from './features/serve-wallet-address/wallet-address-directory.js'
import { PrismaClient } from './generated/prisma/client.js'
import { connectAuthServer } from './grpc/auth-server/connection.js'
import { createGrantLimits } from './grpc/auth-server/grant-limits.js'
import { createLimitsAuditor } from './grpc/auth-server/limits-auditor.js'
import { createIntrospection } from './grpc/auth-server/introspection.js'
import { createRevocationFeed } from './grpc/auth-server/revocations.js'
import { createGrpcServices } from './grpc/operator/wallet-operator.js'
import { createHealthRoutes } from './http/health-routes.js'
import { createPublicApp } from './http/public-app.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'
import { followRevocations } from './workers/follow-revocations.js'
import {
  createDeliveryWorker,
  createProcessingWorker,
  createSweepingWorker
} from './workers/payment-workers.js'

/** What tests, and those who embed the service, may put in the place of the real thing. */
export interface ResourceServerOverrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
  readonly sharedStore?: SharedStore
  readonly rates?: RateProvider
}

/** The resource server, running. */
export interface RunningResourceServer extends RunningService {
  /** Port of the public listener. */
  readonly httpPort: number
  /** Port of the operator gRPC listener. */
  readonly grpcPort: number
  /** Its database connections. */
  readonly pool: Pool
}

/** Longest that one SQL statement may take, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 5_000
/** Longest that a database connection is waited for, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000
/** Longest that one operation of the shared store may take, in milliseconds. */
const SHARED_STORE_TIMEOUT_MS = 500
/** Age at which a gRPC connection is closed gently, in milliseconds. */
const CONNECTION_AGE_MAX_MS = 300_000
/** Largest gRPC message, in bytes. */
const MESSAGE_BYTES_MAX = 4_194_304
/** How long readiness waits for the auth server's channel, in milliseconds. */
const READINESS_TIMEOUT_MS = 1_000

/**
 * Starts the resource server: the only place where its parts are wired together.
 *
 * @throws ConfigurationError for settings that cannot be used together, or a table that cannot be read; any error of a part that cannot start, after
 *   those already started were stopped
 */
export async function composeResourceServer(
  config: ResourceServerConfig,
  overrides: ResourceServerOverrides = {}
): Promise<RunningResourceServer> {
  const logger = overrides.logger ?? createLogger({ service: 'resource-server', level: config.LOG_LEVEL })
  refuseUnsafeStart(config)
  const lifecycle = new Lifecycle(logger)
  try {
    return await start(config, overrides, logger, lifecycle)
  } catch (error) {
    await lifecycle.stop()
    throw error
  }
}

async function start(
  config: ResourceServerConfig,
  overrides: ResourceServerOverrides,
  logger: Logger,
  lifecycle: Lifecycle
): Promise<RunningResourceServer> {
  const context: Context = {
    config,
    logger,
    lifecycle,
    clock: overrides.clock ?? systemClock,
    random: overrides.random ?? systemRandom
  }
  // The two listeners stop one after the other, within the grace period of the process.
  const graceMs = (config.SHUTDOWN_GRACE_SECONDS * 1_000) / 2
  const resources = openResources(context, overrides)
  const domain = createDomainPorts(context, resources, overrides)
  const wakers = startWorkers(context, resources, domain)

  let stopping = false
  const grpcServer = await startGrpcServer({
    host: config.GRPC_HOST,
    port: config.GRPC_PORT,
    services: createGrpcServices({
      ...context,
      ...resources,
      ...domain,
      wallets: createWalletRepository(resources.prisma)
    }),
    reflection: config.GRPC_REFLECTION,
    fileDescriptors,
    logger,
    connectionAgeMaxMs: CONNECTION_AGE_MAX_MS,
    messageBytesMax: MESSAGE_BYTES_MAX
  })
  lifecycle.add({ name: 'gRPC server', stop: () => grpcServer.stop(graceMs) })

  const app = createPublicApp({
    routes: [
      createHealth(resources, () => stopping, logger),
      ...createRoutes(context, resources, domain, wakers)
    ],
    authServerUrl: config.AUTH_SERVER_URL,
    logger
  })
  const httpServer = await startHttpServer(app, { host: config.HTTP_HOST, port: config.HTTP_PORT })
  lifecycle.add({ name: 'HTTP server', stop: () => httpServer.stop(graceMs) })
  logger.info({ host: config.HTTP_HOST, port: httpServer.port }, 'HTTP server listens')

  return {
    httpPort: httpServer.port,
    grpcPort: grpcServer.port,
    pool: resources.pool,
    stop() {
      stopping = true
      return lifecycle.stop()
    }
  }
}

/** What everything is made with. */
interface Context {
  readonly config: ResourceServerConfig
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly random: Random
}

type Resources = ReturnType<typeof openResources>

/** Connections to everything outside the process. */
function openResources({ config, logger, lifecycle, clock }: Context, overrides: ResourceServerOverrides) {
  const pool = createPool({
    url: config.DATABASE_URL.reveal(),
    connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    applicationName: 'resource-server',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    onIdleConnectionLost: (error) => {
      logger.warn({ err: error }, 'idle database connection lost')
    }
  })
  lifecycle.add({ name: 'database', stop: () => pool.end() })
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  lifecycle.add({ name: 'prisma', stop: () => prisma.$disconnect() })

  const sharedStore = overrides.sharedStore ?? openSharedStore(config, logger, clock)
  if (overrides.sharedStore === undefined) {
    lifecycle.add({ name: 'shared store', stop: () => sharedStore.close() })
  }

  const authServer = connectAuthServer({
    target: config.AUTH_GRPC_TARGET,
    deadlineMs: config.AUTH_GRPC_DEADLINE_MS,
    messageBytesMax: MESSAGE_BYTES_MAX
  })
  lifecycle.add({
    name: 'auth server connection',
    stop: () => {
      authServer.close()
      return Promise.resolve()
    }
  })
  return { pool, prisma, sharedStore, authServer }
}

function openSharedStore(config: ResourceServerConfig, logger: Logger, clock: Clock): SharedStore {
  if (config.REDIS_URL === undefined) return createInProcessStore(() => clock.now())
  return createRedisStore({
    url: config.REDIS_URL.reveal(),
    keyPrefix: 'resource-server:',
    commandTimeoutMs: SHARED_STORE_TIMEOUT_MS,
    onConnectionError: (error) => {
      logger.warn({ err: error }, 'shared store connection failed')
    }
  })
}

type DomainPorts = ReturnType<typeof createDomainPorts>

/** The ports that features share. */
function createDomainPorts(
  { config, logger, lifecycle, clock }: Context,
  { pool, sharedStore, authServer }: Resources,
  overrides: ResourceServerOverrides
) {
  const urls = createResourceUrls(config.PUBLIC_URL)
  const masterKey = config.SHARED_SECRET_KEY.reveal()
  const tokens = new TokenRecords({
    introspection: createIntrospection(authServer.introspection),
    clock,
    cacheSeconds: config.INTROSPECTION_CACHE_SECONDS
  })
  lifecycle.add(
    followRevocations({ feed: createRevocationFeed(authServer.introspection), listener: tokens, logger })
  )
  return {
    urls,
    walletAddresses: createWalletAddressDirectory({ pool, urls }),
    authorizer: createRequestAuthorizer({
      tokens,
      sharedStore,
      clock,
      publicUrl: config.PUBLIC_URL,
      policy: {
        ageMaxSeconds: config.SIGNATURE_AGE_MAX_SECONDS,
        futureMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
        tagRequired: config.SIGNATURE_TAG_REQUIRED,
        authorizationRequired: true
      }
    }),
    grantLimits: createGrantLimits(authServer.grantLimits),
    limitsAuditor: createLimitsAuditor(authServer.grantOperator),
    receivers: createLocalReceivers({ pool, urls }),
    termSources: {
      rates: overrides.rates ?? createRateProvider(config, { clock, onStart: (part) => lifecycle.add(part) }),
      fees: parseFeeTable(config.FEES)
    },
    methods: createPaymentMethods({ ilpAddress: config.ILP_ADDRESS, masterKey }),
    representation: config.PAYMENT_REPRESENTATION,
    masterKey
  }
}

type Wakers = ReturnType<typeof startWorkers>

/** Everything that goes on without a request: started before the listeners, and stopped after them. */
function startWorkers(context: Context, { pool }: Resources, { urls, grantLimits }: DomainPorts) {
  const { config, logger, lifecycle } = context
  const pollSeconds = config.PROCESSING_POLL_SECONDS
  const callDeadlineMs = config.AUTH_GRPC_DEADLINE_MS
  const delivery = createDeliveryWorker({ pool, grantLimits, callDeadlineMs, logger, pollSeconds })
  lifecycle.add(delivery)
  const onReservationEnded = (): void => {
    delivery.wake()
  }
  const methods = [createLocalPaymentMethod({ ...context, pool, urls })]
  const processing = createProcessingWorker({ methods, pollSeconds, logger, onReservationEnded })
  lifecycle.add(processing)
  lifecycle.add(
    createSweepingWorker({
      pool,
      grantLimits,
      orphanAgeSeconds: config.ORPHAN_AGE_SECONDS,
      intervalSeconds: config.SWEEP_INTERVAL_SECONDS,
      logger,
      onReservationEnded
    })
  )
  const onPaymentCreated = (): void => {
    processing.wake()
  }
  return { onPaymentCreated, onReservationEnded }
}

/** The routes of every feature, in the order in which they are tried: wallet addresses take any path, so they are last. */
function createRoutes(context: Context, resources: Resources, ports: DomainPorts, wakers: Wakers): Router[] {
  const { config } = context
  const deps = { ...context, ...resources, ...ports, ...wakers, authServerUrl: config.AUTH_SERVER_URL }
  const incomingLifetimeSeconds = config.INCOMING_PAYMENT_LIFETIME_SECONDS
  const quoteLifetimeSeconds = config.QUOTE_LIFETIME_SECONDS
  const cacheSeconds = config.WALLET_ADDRESS_CACHE_SECONDS
  return [
    createIncomingPaymentRoutes({ ...deps, lifetimeSeconds: incomingLifetimeSeconds }),
    createGetIncomingPaymentRoutes(deps),
    createListIncomingPaymentsRoutes(deps),
    createCompleteIncomingPaymentRoutes(deps),
    createQuoteRoutes({ ...deps, lifetimeSeconds: quoteLifetimeSeconds }),
    createGetQuoteRoutes(deps),
    createOutgoingPaymentRoutes(deps),
    createGetOutgoingPaymentRoutes(deps),
    createListOutgoingPaymentsRoutes(deps),
    createGetGrantSpentAmountsRoutes(deps),
    createWalletAddressKeysRoutes({ ...deps, cacheSeconds }),
    createWalletAddressRoutes({ ...deps, cacheSeconds, pageUrl: config.WALLET_ADDRESS_PAGE_URL })
  ]
}

function createHealth({ pool, authServer }: Resources, isStopping: () => boolean, logger: Logger): Router {
  const dependencies = [
    { name: 'database', check: () => pool.query('select 1') },
    { name: 'auth-server', check: () => authServer.waitForReady(READINESS_TIMEOUT_MS) }
  ]
  return createHealthRoutes({ dependencies, isStopping, logger })
}
