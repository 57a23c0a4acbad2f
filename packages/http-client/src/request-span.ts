import { SpanKind, trace } from '@opentelemetry/api'
import { endFailedSpan, isTraced } from '@open-payments-server/runtime'
import { OutgoingRequestError } from './errors.js'

const tracer = trace.getTracer('@open-payments-server/http-client')
const HTTPS_PORT = 443
const HTTP_PORT = 80

/** The span of an outgoing request. Either method ends it. */
export interface RequestSpan {
  answered(status: number): void
  failed(failure: unknown): void
}

/**
 * Starts the span of an outgoing request. It names the host and nothing else of the URL. The trace id is not sent to hosts,
 * which are strangers.
 *
 * @returns undefined when nothing is recorded
 */
export function startRequestSpan(method: 'GET' | 'POST', target: URL): RequestSpan | undefined {
  if (!isTraced()) return undefined
  const defaultPort = target.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT
  const span = tracer.startSpan(method, {
    kind: SpanKind.CLIENT,
    attributes: {
      'http.request.method': method,
      'server.address': target.hostname,
      'server.port': target.port === '' ? defaultPort : Number(target.port)
    }
  })
  return {
    answered(status) {
      span.setAttribute('http.response.status_code', status)
      span.end()
    },
    failed(failure) {
      const known = failure instanceof OutgoingRequestError ? failure : undefined
      const status = known?.status === undefined ? {} : { 'http.response.status_code': known.status }
      endFailedSpan(span, known?.reason ?? 'given up', status)
    }
  }
}
