import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Limits of a listener. */
export interface HttpServerOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Most that a client may take to send its headers, in milliseconds. */
  readonly headersTimeoutMs?: number
  /** Most that a client may take to send a whole request, in milliseconds. */
  readonly requestTimeoutMs?: number
  /** How long an idle connection is kept, in milliseconds. Longer than that of a load balancer in front. */
  readonly keepAliveTimeoutMs?: number
  /** Longest headers, in bytes. */
  readonly headerBytesMax?: number
}

/** A listener that runs. */
export interface RunningHttpServer {
  readonly port: number
  /** Stops accepting, lets running requests finish within the grace period, and closes. */
  stop(graceMs: number): Promise<void>
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const HEADER_BYTES_MAX = 16_384
/** How often a stopping server looks for connections whose last answer has been sent. */
const CLOSE_IDLE_INTERVAL_MS = 20

/**
 * Starts an HTTP listener.
 *
 * @throws when the address cannot be listened on
 */
export async function startHttpServer(
  listener: RequestListener,
  options: HttpServerOptions
): Promise<RunningHttpServer> {
  const server = createServer(
    {
      headersTimeout: options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
      requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      keepAliveTimeout: options.keepAliveTimeoutMs ?? KEEP_ALIVE_TIMEOUT_MS,
      maxHeaderSize: options.headerBytesMax ?? HEADER_BYTES_MAX
    },
    listener
  )
  await listen(server, options)
  return {
    port: (server.address() as AddressInfo).port,
    stop: (graceMs) => stop(server, graceMs)
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
    // A connection that is busy now would be kept for more requests afterwards: each ends with the answer it waits for.
    server.prependListener('request', (_request, response) => {
      response.shouldKeepAlive = false
    })
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
