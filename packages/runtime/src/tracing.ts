import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  trace
} from '@opentelemetry/api'

/** Name of the header, and of the metadata of gRPC, that carries a trace across processes (W3C Trace Context §3.2). */
const TRACEPARENT = 'traceparent'

/** Whether the parent of a span was named by a caller that is not trusted. */
const FROM_STRANGER = createContextKey('the trace was continued from a stranger')

/** Who sent a `traceparent`: one of our own services, or anybody. */
export type TraceSender = 'service' | 'stranger'

/**
 * Takes up the trace that a request belongs to. Of all that may be sent along only `traceparent` is read, and only one that
 * is well-formed; so nothing that strangers say in `tracestate` or `baggage` is passed on.
 *
 * @param traceparent as it was sent; undefined where none was
 * @returns what a span of the request is started in: a new trace where there is none to take up
 */
export function continueTrace(traceparent: unknown, sender: TraceSender): Context {
  if (typeof traceparent !== 'string') return ROOT_CONTEXT
  const continued = propagation.extract(ROOT_CONTEXT, traceparent, ONLY_TRACEPARENT)
  return sender === 'stranger' ? continued.setValue(FROM_STRANGER, true) : continued
}

const ONLY_TRACEPARENT = {
  keys: () => [TRACEPARENT],
  get: (traceparent: string, key: string) => (key === TRACEPARENT ? traceparent : undefined)
}

/** Whether the trace in a context was taken up from a stranger. */
export function isFromStranger(traced: Context): boolean {
  return traced.getValue(FROM_STRANGER) === true
}

/**
 * Says which trace a request to one of our own services belongs to.
 *
 * @param carry is told name and value of what to send along; not called where there is no trace
 */
export function sendTrace(traced: Context, carry: (name: string, value: string) => void): void {
  propagation.inject(traced, carry, {
    set: (set, name, value) => {
      if (name === TRACEPARENT) set(name, value)
    }
  })
}

/**
 * Whether what happens now is recorded as a part of a trace. Spans of a part are made only then, so that what is not recorded
 * costs nothing, and nothing is recorded that belongs to no request or batch.
 */
export function isTraced(): boolean {
  return trace.getActiveSpan()?.isRecording() === true
}

/**
 * Ends a span whose work failed. What the error says is left out: it may hold what was sent.
 *
 * @param type kind of failure, from a small set: the span's `error.type`
 */
export function endFailedSpan(span: Span, type: string, attributes: Attributes = {}): void {
  span.setAttributes({ ...attributes, 'error.type': type }).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/** Does something as a part of a span, which goes on afterwards. */
export function withinSpan<Value>(span: Span, parent: Context, action: () => Value): Value {
  return context.with(trace.setSpan(parent, span), action)
}

/** Which trace the lines of a log belong to, as fields; none outside of any. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const span = trace.getActiveSpan()?.spanContext()
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }
}
