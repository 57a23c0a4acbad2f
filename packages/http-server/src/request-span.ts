import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Context, context, type SpanContext, SpanKind, trace } from '@opentelemetry/api'
import type { HttpRequest } from './http-request.js'
import { continueTrace, endFailedSpan } from '@open-payments-server/runtime'

const tracer = trace.getTracer('@open-payments-server/http-server')

/** The methods that are recorded by name. All others are `other`, so that strangers cannot add time series. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS'
])

/** What is reported of a request when it has ended. */
export interface RequestEnd {
  /** `other` if it is unknown. */
  readonly method: string
  /** Pattern of its route; `none` if there was none. */
  readonly route: string
  /** `none` if no answer was sent. */
  readonly status: number | 'none'
}

/** The span of a request. */
export interface RequestSpan {
  /** The trace that it is a part of, and its place there. */
  readonly traced: SpanContext
  /** Runs something as part of it; the span continues afterwards. */
  within<Value>(action: () => Value): Value
  /** Ends it. */
  end(request: RequestEnd): void
}

/** The method of a request if known, else `other`. */
function knownMethod(method: string): string {
  return KNOWN_METHODS.has(method) ? method : 'other'
}

/**
 * Starts the span of a request, in the trace that its sender names. It does not contain path, query, headers or the
 * sender's address: they contain secrets, or identify people.
 */
export function startRequestSpan(request: IncomingMessage): RequestSpan {
  const parent: Context = continueTrace(request.headers.traceparent, 'stranger')
  const method = knownMethod(request.method ?? '')
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, parent)
  const part = trace.setSpan(parent, span)
  return {
    traced: span.spanContext(),
    within: (action) => context.with(part, action),
    end({ route, status }) {
      if (!span.isRecording()) return
      span.setAttribute('http.request.method', method === 'other' ? '_OTHER' : method)
      if (route !== 'none') span.setAttribute('http.route', route).updateName(`${method} ${route}`)
      if (status === 'none') {
        endFailedSpan(span, 'no answer')
        return
      }
      span.setAttribute('http.response.status_code', status)
      if (status >= 500) endFailedSpan(span, String(status))
      else span.end()
    }
  }
}

/** The result of a request, after its connection is done with it. */
export function endOf(request: HttpRequest, response: ServerResponse): RequestEnd {
  return {
    method: knownMethod(request.method),
    route: request.route ?? expressRoute(request.message) ?? 'none',
    // Before the headers are sent, the status is not an answer: the client is gone, or got none.
    status: response.headersSent ? response.statusCode : 'none'
  }
}

/** Pattern of the express route that took a request. */
function expressRoute(message: IncomingMessage & { readonly route?: unknown }): string | undefined {
  const path = (message.route as { path?: unknown } | undefined)?.path
  return typeof path === 'string' ? path : undefined
}
