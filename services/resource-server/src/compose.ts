import type { DatabasePool } from '@open-payments-server/database'
import { startHttpServer } from '@open-payments-server/http-server'
import { describeEd25519Library } from '@open-payments-server/http-signatures'
import {
  createLogger,
  Lifecycle,
  Listeners,
  type RunningService,
  systemClock,
  systemRandom
} from '@open-payments-server/runtime'
import { startGrpcServices } from '@open-payments-server/service-kit/grpc'
import { openIssuerKeys } from '@open-payments-server/service-kit/issuers'
import { startOperators } from '@open-payments-server/service-kit/operators'
import { wakeAfter } from '@open-payments-server/service-kit/events'
import { createHealthRoutes } from '@open-payments-server/service-kit/health'
import { publishCertificates } from '@open-payments-server/service-kit/metrics'
import { countErrors } from '@open-payments-server/shared-store'
import type { Context, ResourceServerOverrides } from './compose/context.js'
import { createDomainPorts } from './compose/domain-ports.js'
import { createGrpcServices } from './compose/grpc-services.js'
import { openHolders } from './compose/holders.js'
import { startMetrics } from './compose/metrics.js'
import { openOtherProviders } from './compose/other-providers.js'
import { openPeers, startPeerListener } from './compose/peers.js'
import { startRateLimits } from './compose/rate-limits.js'
import { openResources } from './compose/resources.js'
import { createReadiness, createRoutes } from './compose/routes.js'
import { startTelling } from './compose/telling.js'
import { measureTransports } from './compose/transports.js'
import { startWaiting } from './compose/waiting.js'
import { startApprovalTimeout, startPurge, startWorkers } from './compose/workers.js'
import type { ResourceServerConfig } from './config.js'
import { createPublicApp } from './http/public-app.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

export type { ResourceServerOverrides } from './compose/context.js'

/** The resource server, running. */
export interface RunningResourceServer extends RunningService {
  /** Port of the public listener. */
  readonly httpPort: number
  /** Port of the operator gRPC listener. */
  readonly grpcPort: number
  /** Port of the listener for peers; undefined when there is none. */
  readonly ilpPort: number | undefined
  /** Port of the metrics listener; undefined when there is none. */
  readonly metricsPort: number | undefined
  /** Its database connections. */
  readonly pool: DatabasePool
  /** Database connections for reading whole tables. */
  readonly patientPool: DatabasePool
}

/**
 * Starts the resource server: the only place where its parts are wired together, each kind in its file of `compose/`.
 *
 * @throws ConfigurationError for settings that cannot be used together, or a table that cannot be read; any error of a part
 *   that cannot start, after the parts already started were stopped
 */
export async function composeResourceServer(
  config: ResourceServerConfig,
  overrides: ResourceServerOverrides = {}
): Promise<RunningResourceServer> {
  const logger = overrides.logger ?? createLogger({ service: 'resource-server', level: config.LOG_LEVEL })
  refuseUnsafeStart(config)
  const { clock = systemClock, random = systemRandom } = overrides
  const context = { config, logger, lifecycle: new Lifecycle(logger), clock, random }
  try {
    return await start(context, overrides)
  } catch (error) {
    await context.lifecycle.stop()
    throw error
  }
}

async function start(context: Context, overrides: ResourceServerOverrides): Promise<RunningResourceServer> {
  const { config, logger, lifecycle } = context
  const opened = await openResources(context, overrides)
  const metrics = await startMetrics(context, opened)
  publishCertificates(metrics.metrics, [opened.listenerTls, opened.authServerTls])
  const transports = measureTransports(context, opened, metrics.metrics)
  const { counters } = metrics
  const resources = { ...opened, sharedStore: countErrors(opened.sharedStore, counters.countStoreError) }
  const rateLimits = await startRateLimits(context, metrics.metrics)
  const domain = createDomainPorts(context, { ...resources, ...metrics, rateLimits }, overrides)
  const peers = openPeers(context)
  const others = await openOtherProviders(context, resources, domain, { ...peers, counters })
  const holders = await openHolders(context, domain)
  const wakers = startWorkers(context, resources, { ...domain, ...others }, counters)
  startApprovalTimeout(context, resources, domain, wakers, counters)
  const telling = startTelling(context, resources, domain, counters)
  const waiting = startWaiting(context, { ...resources, ...metrics }, domain, telling)
  startPurge(context, resources, counters)

  const readiness = createReadiness(context, resources)
  const listeners = new Listeners({
    delayMs: config.SHUTDOWN_DELAY_SECONDS * 1_000,
    graceMs: config.SHUTDOWN_GRACE_SECONDS * 1_000
  })
  lifecycle.add(listeners)
  const operators = await startOperators(context, openIssuerKeys(context))
  const rpcs = { counters, callObserver: transports?.grpcServer, telling, operators, ...peers, ...holders }
  const grpcServer = await startGrpcServices({
    config,
    tls: opened.listenerTls,
    logger,
    services: createGrpcServices({ ...context, ...resources, ...domain, ...others, ...wakers, ...rpcs })
  })
  listeners.add(grpcServer)

  const parts = { context, resources, domain, others, wakers, counters, waiting }
  const app = createPublicApp({
    routes: [...createHealthRoutes(readiness), ...wakeAfter(createRoutes(parts), wakers.onEventsAppended)],
    authServerUrl: config.AUTH_SERVER_URL,
    logger,
    requestObserver: transports?.http.public,
    admit: rateLimits?.admit,
    trustedProxies: config.TRUSTED_PROXIES
  })
  const httpServer = await startHttpServer(app, {
    host: config.HTTP_HOST,
    port: config.HTTP_PORT,
    connectionsMax: config.HTTP_CONNECTIONS_MAX,
    logger
  })
  listeners.add(httpServer)
  listeners.add(waiting.room)
  transports?.watchListener('public', httpServer)
  const peerServer = await startPeerListener(context, { ...parts, transports })
  if (peerServer !== undefined) listeners.add(peerServer)
  logger.info(
    { host: config.HTTP_HOST, port: httpServer.port, ed25519Library: describeEd25519Library() },
    'HTTP server listens'
  )

  return {
    httpPort: httpServer.port,
    grpcPort: grpcServer.port,
    ilpPort: peerServer?.port,
    metricsPort: metrics.port,
    pool: resources.pool,
    patientPool: resources.patientPool,
    stop() {
      readiness.stop()
      return lifecycle.stop()
    }
  }
}
