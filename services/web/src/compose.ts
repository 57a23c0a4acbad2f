import { type RunningHttpServer, startHttpServer } from '@open-payments-server/http-server'
import {
  createLogger,
  Lifecycle,
  Listeners,
  readVersion,
  type RunningService,
  systemClock,
  systemRandom
} from '@open-payments-server/runtime'
import { createHealthRoutes, Readiness } from '@open-payments-server/service-kit/health'
import {
  Metrics,
  publishCertificates,
  publishClientTransports,
  publishStoreErrors,
  serveMetrics,
  type TransportMetrics
} from '@open-payments-server/service-kit/metrics'
import { countErrors } from '@open-payments-server/shared-store'
import type { Context, WebOverrides } from './compose/context.js'
import { openResources, type Resources } from './compose/resources.js'
import { createConsoleRoutes } from './compose/console.js'
import { createHolderRoutes } from './compose/routes.js'
import { createConsoleSite, createHolderSite } from './compose/sites.js'
import { hasListener, type Listener, type WebConfig } from './config.js'
import { createPagesApp } from './http/pages-app.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

export type { WebOverrides } from './compose/context.js'

/** The pages, running. */
export interface RunningWeb extends RunningService {
  /** Port of the pages of account holders; undefined when there are none. */
  readonly httpPort: number | undefined
  /** Port of the console; undefined when there is none. */
  readonly consolePort: number | undefined
  /** Port of the metrics listener; undefined when there is none. */
  readonly metricsPort: number | undefined
}

const MANIFEST = new URL('../package.json', import.meta.url)

/**
 * Starts the pages: the only place where their parts are wired together, each kind in its file of `compose/`.
 *
 * @throws ConfigurationError for settings that are unsafe together; any error of a part that cannot start, after the parts
 *   already started were stopped
 */
export async function composeWeb(config: WebConfig, overrides: WebOverrides = {}): Promise<RunningWeb> {
  const logger = overrides.logger ?? createLogger({ service: 'web', level: config.LOG_LEVEL })
  refuseUnsafeStart(config)
  const { clock = systemClock, random = systemRandom } = overrides
  const context = { config, logger, lifecycle: new Lifecycle(logger), clock, random }
  try {
    return await start(context, await openResources(context, overrides))
  } catch (error) {
    await context.lifecycle.stop()
    throw error
  }
}

async function start(context: Context, opened: Resources): Promise<RunningWeb> {
  const { config, logger, lifecycle } = context
  const metrics = new Metrics(context)
  const metricsPort = await serveMetrics(metrics, context)
  const transports = metricsPort === undefined ? undefined : measureTransports(metrics, opened)
  const countStoreError = publishStoreErrors(metrics, ['mark'])
  const sharedStore = countErrors(opened.sharedStore, (operation) => {
    // Nothing else is done with it here.
    if (operation === 'mark') countStoreError(operation)
  })
  const resources = { ...opened, sharedStore }
  const readiness = createReadiness(context, resources)
  const listeners = new Listeners({
    delayMs: config.SHUTDOWN_DELAY_SECONDS * 1_000,
    graceMs: config.SHUTDOWN_GRACE_SECONDS * 1_000
  })
  lifecycle.add(listeners)
  const shared = {
    logger,
    trustedProxies: config.TRUSTED_PROXIES,
    allowHttp: config.ENVIRONMENT === 'development'
  }
  const listen = async (
    listener: Listener,
    { site, routes }: Pick<Parameters<typeof createPagesApp>[0], 'site' | 'routes'>,
    place: { host: string; port: number }
  ): Promise<RunningHttpServer> => {
    const app = createPagesApp({
      ...shared,
      site,
      routes: [...createHealthRoutes(readiness), ...routes],
      requestObserver: transports?.http[listener]
    })
    const connectionsMax = config.HTTP_CONNECTIONS_MAX
    const server = await startHttpServer(app, { ...place, connectionsMax, logger })
    listeners.add(server)
    transports?.watchListener(listener, server)
    return server
  }

  let httpPort: number | undefined
  if (hasListener(config, 'pages')) {
    const site = createHolderSite(context, config, resources)
    const routes = createHolderRoutes(context, config, resources, site)
    const place = { host: config.HTTP_HOST, port: config.HTTP_PORT }
    httpPort = (await listen('pages', { site, routes }, place)).port
  }
  let consolePort: number | undefined
  if (hasListener(config, 'console')) {
    const site = createConsoleSite(context, config, resources)
    const routes = createConsoleRoutes(context, resources, site, transports?.grpcClient)
    const place = { host: config.CONSOLE_HOST, port: config.CONSOLE_PORT }
    consolePort = (await listen('console', { site, routes }, place)).port
  }
  logger.info({ port: httpPort, consolePort }, 'HTTP servers listen')
  return {
    httpPort,
    consolePort,
    metricsPort,
    stop() {
      readiness.stop()
      return lifecycle.stop()
    }
  }
}

/** Measures requests, and the calls of the holders' pages; the console has its calls measured itself. */
function measureTransports(
  metrics: Metrics,
  { targets, resourceServer, authServer }: Resources
): Pick<TransportMetrics<Listener>, 'http' | 'watchListener' | 'grpcClient'> {
  const version = readVersion(MANIFEST)
  const transports = publishClientTransports(metrics, { listeners: ['pages', 'console'], version })
  publishCertificates(
    metrics,
    Object.values(targets).map(({ tls }) => tls)
  )
  resourceServer.observe(transports.grpcClient)
  authServer.observe(transports.grpcClient)
  return transports
}

/** Without the shared store nobody counts as signed in. The services behind may be away: the pages then say so. */
function createReadiness({ logger }: Context, { sharedStore }: Resources): Readiness {
  return new Readiness({
    dependencies: [
      {
        name: 'shared store',
        needed: 'at-start',
        check: async () => {
          await sharedStore.check()
          return undefined
        }
      }
    ],
    logger
  })
}
