import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A span as it was received. */
export interface CollectedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** Absent for the first span of a trace. */
  readonly parentSpanId?: string
  readonly traceState?: string
  /** Number of its kind in OTLP: 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
}

/** The parts of a batch that tests read (OTLP 1.x over HTTP, in JSON). */
interface ExportedTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[]
  }[]
}
type ExportedSpan = Omit<CollectedSpan, 'attributes'> & {
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

/** A fake trace collector that keeps what it receives. */
export interface TraceCollector {
  /** The services' `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string
  /** Bodies of all requests, as received. */
  readonly received: readonly string[]
  /** Headers of all requests. */
  readonly headers: readonly IncomingMessage['headers'][]
  /** The spans of a trace, in the order in which they ended. */
  spansOf(traceId: string): CollectedSpan[]
  stop(): Promise<void>
}

/** Starts a collector on a free port of this machine. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const received: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.url === '/v1/traces') received.push(body)
      headers.push(request.headers)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    received,
    headers,
    spansOf: (traceId) => received.flatMap(decode).filter((span) => span.traceId === traceId),
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }
}

function decode(body: string): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(body) as ExportedTraces
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map((span) => ({
      ...span,
      attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
    }))
}
