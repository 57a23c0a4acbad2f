import type { IncomingMessage, ServerResponse } from 'node:http'
import { startHttpServer } from '@open-payments-server/http-server'
import type { Lifecycle, Logger, Part } from '@open-payments-server/runtime'
import type { Metrics } from './metrics.js'

/** Where metrics are served. */
export interface MetricsServerOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly logger: Logger
}

/**
 * Serves metrics if a port is set, until the service stops.
 *
 * @returns the port of the listener; undefined when there is none
 * @throws Error when it cannot listen
 */
export async function serveMetrics(
  metrics: Metrics,
  service: {
    readonly config: { readonly METRICS_HOST: string; readonly METRICS_PORT?: number | undefined }
    readonly logger: Logger
    readonly lifecycle: Pick<Lifecycle, 'add'>
  }
): Promise<number | undefined> {
  const { METRICS_HOST: host, METRICS_PORT: port } = service.config
  if (port === undefined) return undefined
  const server = await startMetricsServer(metrics, { host, port, logger: service.logger })
  service.lifecycle.add(server)
  return server.port
}

/** A listener for metrics. */
export interface RunningMetricsServer extends Part {
  readonly port: number
}

/** How long a scrape that runs may take to finish when the listener stops, in milliseconds. */
const STOP_GRACE_MS = 500

/**
 * Serves metrics at `GET /metrics`, those of the process among them. Whoever reaches the listener can read them: it is not
 * for the internet.
 *
 * @throws Error when it cannot listen
 */
export async function startMetricsServer(
  metrics: Metrics,
  { host, port, logger }: MetricsServerOptions
): Promise<RunningMetricsServer> {
  metrics.addProcessMetrics()
  const server = await startHttpServer(
    (request, response) => {
      answer(metrics, request, response).catch((error: unknown) => {
        logger.error({ err: error }, 'metrics not served')
        response.destroy()
      })
    },
    { host, port }
  )
  logger.info({ host, port: server.port }, 'metrics server listens')
  return { name: 'metrics server', port: server.port, stop: () => server.stop(STOP_GRACE_MS) }
}

async function answer(metrics: Metrics, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url?.split('?', 1)[0] !== '/metrics') {
    response.writeHead(404).end()
    return
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end()
    return
  }
  const { contentType, text } = await metrics.scrape()
  response.writeHead(200, { 'content-type': contentType }).end(text)
}
