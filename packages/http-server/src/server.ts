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

/** Limits of a listener, and how it refuses what is beyond them. Each limit is that of `limits.ts` unless given. */
export interface HttpServerOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Most that a client may take to send its headers, in milliseconds. */
  readonly headersTimeoutMs?: number
  /** Most that a client may take to send a whole request, in milliseconds. */
  readonly requestTimeoutMs?: number
  /** How often connections are looked through for clients that are too slow, in milliseconds. */
  readonly timeoutCheckIntervalMs?: number
  /** Longest that a client may read nothing of its answer, in milliseconds. */
  readonly answerStallTimeoutMs?: number
  /** How long the rest of a body is read and discarded after its request was answered, in milliseconds. */
  readonly discardTimeoutMs?: number
  /** How long an idle connection is kept, in milliseconds. Longer than that of a load balancer in front. */
  readonly keepAliveTimeoutMs?: number
  /** Longest headers, in bytes. */
  readonly headerBytesMax?: number
  /** Most connections at a time. */
  readonly connectionsMax?: number
  /** Most requests of one connection. */
  readonly requestsPerConnectionMax?: number
  /** Code of requests that cannot be read, as the app has it; the HTTP status as a string unless given. */
  readonly badRequestCode?: string
  /** Is told of each request that the app never got, in one line; nobody unless given. */
  readonly logger?: Logger
}

/** A listener that runs. */
export interface RunningHttpServer {
  readonly port: number
  /** How many connections are open now. */
  readonly openConnections: number
  /** From now on every answer ends its connection, so that the next request of a client goes elsewhere. */
  announceStop(): void
  /** Stops accepting, lets running requests finish within the grace period, and closes. */
  stop(graceMs: number): Promise<void>
}

/** How often a stopping server looks for connections whose last answer has been sent. */
const CLOSE_IDLE_INTERVAL_MS = 20

/**
 * Starts an HTTP listener. Whatever it refuses by itself is answered like an error of the app.
 *
 * @throws when the address cannot be listened on
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
    // Refused with the others, in the words of the app.
    requireHostHeader: false
  })
  server.timeout = rules.answerStallTimeoutMs
  // One more than is accepted, so that it shows when there were more.
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
