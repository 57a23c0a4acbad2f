import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Context, context, type SpanContext, SpanKind, trace } from '@opentelemetry/api'
import type { HttpRequest } from './http-request.js'
import { continueTrace, endFailedSpan } from '@open-payments-server/runtime'

const tracer = trace.getTracer('@open-payments-server/http-server')

/** The methods that are recorded by name. All others are `other`: strangers must not be able to add time series. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS'
])

/** What is told of a request when it is over. */
export interface RequestEnd {
  /** `other` where it is none that is known. */
  readonly method: string
  /** Pattern of the route that took it; `none` where none did. */
  readonly route: string
  /** `none` where no answer was sent. */
  readonly status: number | 'none'
}

/** The span of a request. */
export interface RequestSpan {
  /** The trace that it is a part of, and its place there. */
  readonly traced: SpanContext
  /** Does something as a part of it, which goes on afterwards. */
  within<Value>(action: () => Value): Value
  /** Ends it. */
  end(request: RequestEnd): void
}

/** The method of a request where it is a known one, else `other`. */
export function knownMethod(method: string): string {
  return KNOWN_METHODS.has(method) ? method : 'other'
}

/**
 * Starts the span of a request, in the trace that its sender names. Path, query, headers and address of the sender are no part
 * of it: they hold secrets, or tell who people are.
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

/** What became of a request, once its connection has no more to do with it. */
export function endOf(request: HttpRequest, response: ServerResponse): RequestEnd {
  return {
    method: knownMethod(request.method),
    route: request.route ?? expressRoute(request.message) ?? 'none',
    // Until the headers are sent, the status is no answer: the client is gone, or was given none.
    status: response.headersSent ? response.statusCode : 'none'
  }
}

/** Pattern of the route of express that took a request. */
function expressRoute(message: IncomingMessage & { readonly route?: unknown }): string | undefined {
  const path = (message.route as { path?: unknown } | undefined)?.path
  return typeof path === 'string' ? path : undefined
}
