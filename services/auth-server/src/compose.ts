import type { DatabasePool } from '@open-payments-server/database'
import { type RunningHttpServer, startHttpServer } from '@open-payments-server/http-server'
import { describeEd25519Library } from '@open-payments-server/http-signatures'
import {
  createLogger,
  Lifecycle,
  Listeners,
  type RunningService,
  systemClock,
  systemRandom
} from '@open-payments-server/runtime'
import { wakeAfter } from '@open-payments-server/service-kit/events'
import { startGrpcServices } from '@open-payments-server/service-kit/grpc'
import { openIssuerKeys } from '@open-payments-server/service-kit/issuers'
import { startOperators } from '@open-payments-server/service-kit/operators'
import { publishCertificates } from '@open-payments-server/service-kit/metrics'
import { countErrors } from '@open-payments-server/shared-store'
import { openConsentProofs } from './compose/consent-proofs.js'
import type { AuthServerOverrides, Context } from './compose/context.js'
import { createDomainPorts } from './compose/domain-ports.js'
import { createGrpcServices } from './compose/grpc-services.js'
import { startMetrics } from './compose/metrics.js'
import { startRateLimits } from './compose/rate-limits.js'
import { openResources } from './compose/resources.js'
import {
  createIdentityProviderRoutes,
  createReadiness,
  createRoutes,
  type RouteParts
} from './compose/routes.js'
import { startTelling } from './compose/telling.js'
import { measureTransports } from './compose/transports.js'
import { startPublishing, startPurge } from './compose/workers.js'
import type { AuthServerConfig } from './config.js'
import { BAD_REQUEST_CODE } from './http/answers.js'
import { createIdentityProviderApp } from './http/identity-provider-app.js'
import { createPublicApp } from './http/public-app.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

export type { AuthServerOverrides } from './compose/context.js'

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
  /** Its database connections. */
  readonly pool: DatabasePool
}

/**
 * Starts the auth server: the only place where its parts are wired together, each kind in its file of `compose/`.
 *
 * @throws ConfigurationError for settings that are unsafe together; any error of a part that cannot start, after the parts
 *   already started were stopped
 */
export async function composeAuthServer(
  config: AuthServerConfig,
  overrides: AuthServerOverrides = {}
): Promise<RunningAuthServer> {
  const logger = overrides.logger ?? createLogger({ service: 'auth-server', level: config.LOG_LEVEL })
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

async function start(context: Context, overrides: AuthServerOverrides): Promise<RunningAuthServer> {
  const { config, logger, lifecycle } = context
  const opened = await openResources(context, overrides)
  const metrics = await startMetrics(context, opened)
  publishCertificates(metrics.metrics, [opened.listenerTls])
  const transports = measureTransports(context, opened, metrics.metrics)
  const { counters } = metrics
  const resources = { ...opened, sharedStore: countErrors(opened.sharedStore, counters.countStoreError) }
  const rateLimits = await startRateLimits(context, metrics.metrics)
  const domain = createDomainPorts(context, { ...resources, ...metrics, rateLimits })
  startPurge(context, resources, counters)
  const wakers = startPublishing(context, resources, counters)
  const telling = startTelling(context, resources, domain, counters)

  const readiness = createReadiness(context, resources)
  const listeners = new Listeners({
    delayMs: config.SHUTDOWN_DELAY_SECONDS * 1_000,
    graceMs: config.SHUTDOWN_GRACE_SECONDS * 1_000
  })
  lifecycle.add(listeners)
  const issuerKeys = openIssuerKeys(context)
  const operators = await startOperators(context, issuerKeys)
  const consentProofs = openConsentProofs(context, issuerKeys)
  const { grantEndpoint } = domain.tokenMaker.addresses
  const rpcs = { counters, callObserver: transports?.grpcServer, telling, operators, consentProofs }
  const grpcServer = await startGrpcServices({
    config,
    tls: opened.listenerTls,
    logger,
    services: createGrpcServices({ ...context, ...resources, ...domain, ...wakers, ...rpcs, grantEndpoint })
  })
  listeners.add(grpcServer)

  const parts = { context, resources, domain, wakers, counters, consentProofs }
  const identityProviderServer = await startIdentityProviderServer(parts, {
    readiness,
    requestObserver: transports?.http['identity-provider']
  })
  listeners.add(identityProviderServer)
  transports?.watchListener('identity-provider', identityProviderServer)

  const publicApp = createPublicApp({
    routes: wakeAfter(createRoutes(parts), wakers.onEventsAppended),
    logger,
    requestObserver: transports?.http.public,
    admit: rateLimits?.admit,
    trustedProxies: config.TRUSTED_PROXIES
  })
  const publicServer = await startPublicServer(publicApp, context)
  listeners.add(publicServer)
  transports?.watchListener('public', publicServer)
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
    grpcPort: grpcServer.port,
    metricsPort: metrics.port,
    pool: resources.pool,
    stop() {
      readiness.stop()
      return lifecycle.stop()
    }
  }
}

/** Listens for identity providers and for operators. */
function startIdentityProviderServer(
  parts: RouteParts,
  options: Pick<Parameters<typeof createIdentityProviderApp>[0], 'readiness' | 'requestObserver'>
): Promise<RunningHttpServer> {
  const { config, logger } = parts.context
  const app = createIdentityProviderApp({
    ...options,
    routes: wakeAfter(createIdentityProviderRoutes(parts), parts.wakers.onEventsAppended),
    logger,
    secrets: [config.IDENTITY_PROVIDER_SECRET, config.IDENTITY_PROVIDER_SECRET_PREVIOUS].flatMap((secret) =>
      secret === undefined ? [] : [secret.reveal()]
    )
  })
  return startHttpServer(app, {
    host: config.IDENTITY_PROVIDER_HOST,
    port: config.IDENTITY_PROVIDER_PORT,
    badRequestCode: BAD_REQUEST_CODE,
    logger
  })
}

function startPublicServer(app: Parameters<typeof startHttpServer>[0], { config, logger }: Context) {
  return startHttpServer(app, {
    host: config.HTTP_HOST,
    port: config.HTTP_PORT,
    connectionsMax: config.HTTP_CONNECTIONS_MAX,
    badRequestCode: BAD_REQUEST_CODE,
    logger
  })
}
