import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A rate service, on the loopback. */
export interface RateSource {
  /** For `EXCHANGE_RATES_URL`. */
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts a rate service.
 *
 * @param rateOf the rate that a query is answered with; `null` when there is none, and undefined when it fails
 */
export async function startRateSource(
  rateOf: (query: string) => string | null | undefined
): Promise<RateSource> {
  const server = createServer((request, response) => {
    const rate = rateOf(new URL(request.url ?? '/', 'http://x').search)
    const status = rate === undefined ? 500 : rate === null ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ rate }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${String(port)}/v1/rate`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      })
  }
}
