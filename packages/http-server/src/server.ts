import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from '@open-payments-server/runtime'
import { Connections } from './connections.js'
import {
  ANSWER_STALL_TIMEOUT_MS,
  CONNECTIONS_MAX,
  DISCARD_TIMEOUT_MS,
  HEADER_BYTES_MAX,
  HEADER_COUNT_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  REQUESTS_PER_CONNECTION_MAX,
  TIMEOUT_CHECK_INTERVAL_MS
} from './limits.js'

/** Limits of a listener, and how it refuses what exceeds them. The default of each limit is in `limits.ts`. */
export interface HttpServerOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Maximum time for a client to send its headers, in milliseconds. */
  readonly headersTimeoutMs?: number
  /** Maximum time for a client to send a whole request, in milliseconds. */
  readonly requestTimeoutMs?: number
  /** How often connections are checked for clients that are too slow, in milliseconds. */
  readonly timeoutCheckIntervalMs?: number
  /** Maximum time that a client may read nothing of its answer, in milliseconds. */
  readonly answerStallTimeoutMs?: number
  /** How long the rest of a body is read and discarded after its request was answered, in milliseconds. */
  readonly discardTimeoutMs?: number
  /** How long an idle connection is kept, in milliseconds. Longer than that of a load balancer in front. */
  readonly keepAliveTimeoutMs?: number
  /** Maximum size of the headers, in bytes. */
  readonly headerBytesMax?: number
  /** Maximum number of concurrent connections. */
  readonly connectionsMax?: number
  /** Maximum number of requests per connection. */
  readonly requestsPerConnectionMax?: number
  /** Error code of unreadable requests, as in the app; default: the HTTP status as a string. */
  readonly badRequestCode?: string
  /** Gets one line for each request that did not reach the app; none unless given. */
  readonly logger?: Logger
}

/** A running listener. */
export interface RunningHttpServer {
  readonly port: number
  /** Number of open connections. */
  readonly openConnections: number
  /** From now on every answer closes its connection, so that the client's next request goes elsewhere. */
  announceStop(): void
  /** Stops accepting, lets running requests finish within the grace period, and closes. */
  stop(graceMs: number): Promise<void>
}

/** How often a stopping server checks for connections whose last answer has been sent. */
const CLOSE_IDLE_INTERVAL_MS = 20

/**
 * Starts an HTTP listener. Anything it refuses itself is answered like an error of the app.
 *
 * @throws when it cannot listen on the address
 */
export async function startHttpServer(
  listener: RequestListener,
  options: HttpServerOptions
): Promise<RunningHttpServer> {
  const rules = {
    answerStallTimeoutMs: options.answerStallTimeoutMs ?? ANSWER_STALL_TIMEOUT_MS,
    discardTimeoutMs: options.discardTimeoutMs ?? DISCARD_TIMEOUT_MS,
    requestsPerConnectionMax: options.requestsPerConnectionMax ?? REQUESTS_PER_CONNECTION_MAX,
    badRequestCode: options.badRequestCode ?? '400',
    logger: options.logger
  }
  const server = createServer({
    headersTimeout: options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: options.timeoutCheckIntervalMs ?? TIMEOUT_CHECK_INTERVAL_MS,
    keepAliveTimeout: options.keepAliveTimeoutMs ?? KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: options.headerBytesMax ?? HEADER_BYTES_MAX,
    // Refused with the others, in the app's format.
    requireHostHeader: false
  })
  server.timeout = rules.answerStallTimeoutMs
  // One more than is accepted, to detect that there were more.
  server.maxHeadersCount = HEADER_COUNT_MAX + 1
  server.maxConnections = options.connectionsMax ?? CONNECTIONS_MAX
  const connections = new Connections(listener, rules)
  connections.attach(server)
  let openConnections = 0
  server.on('connection', (socket) => {
    openConnections += 1
    socket.once('close', () => {
      openConnections -= 1
    })
  })
  await listen(server, options)
  return {
    port: (server.address() as AddressInfo).port,
    get openConnections() {
      return openConnections
    },
    announceStop() {
      connections.endAll()
    },
    stop(graceMs) {
      connections.endAll()
      return stop(server, graceMs)
    }
  }
}

function listen(server: Server, options: HttpServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function stop(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const closing = setInterval(() => {
      server.closeIdleConnections()
    }, CLOSE_IDLE_INTERVAL_MS)
    const timer = setTimeout(() => {
      server.closeAllConnections()
    }, graceMs)
    server.close(() => {
      clearTimeout(timer)
      clearInterval(closing)
      resolve()
    })
    server.closeIdleConnections()
  })
}
