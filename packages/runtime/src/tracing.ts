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

/** Name of the header, and of the gRPC metadata, that carries a trace across processes (W3C Trace Context §3.2). */
const TRACEPARENT = 'traceparent'

/** Whether the parent of a span was named by a caller that is not trusted. */
const FROM_STRANGER = createContextKey('the trace was continued from a stranger')

/** The sender of a `traceparent`: one of our own services, or anyone. */
export type TraceSender = 'service' | 'stranger'

/**
 * Continues the trace of a request. Only `traceparent` is read, and only if it is well-formed, so nothing that strangers
 * send in `tracestate` or `baggage` is passed on.
 *
 * @param traceparent as it was sent; undefined if there was none
 * @returns the context for a span of the request: a new trace if there is none to continue
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

/** Whether the trace in a context came from a stranger. */
export function isFromStranger(traced: Context): boolean {
  return traced.getValue(FROM_STRANGER) === true
}

/**
 * Sends the trace with a request to one of our own services.
 *
 * @param carry gets the name and value to send; not called without a trace
 */
export function sendTrace(traced: Context, carry: (name: string, value: string) => void): void {
  propagation.inject(traced, carry, {
    set: (set, name, value) => {
      if (name === TRACEPARENT) set(name, value)
    }
  })
}

/**
 * Whether the current work belongs to a recorded trace. Child spans are created only then, so that unrecorded work costs
 * nothing, and nothing is recorded outside a request or batch.
 */
export function isTraced(): boolean {
  return trace.getActiveSpan()?.isRecording() === true
}

/**
 * Ends a span whose work failed. The error's message is left out: it may contain what was sent.
 *
 * @param type kind of failure, from a small set: the span's `error.type`
 */
export function endFailedSpan(span: Span, type: string, attributes: Attributes = {}): void {
  span.setAttributes({ ...attributes, 'error.type': type }).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/** Runs something as part of a span; the span continues afterwards. */
export function withinSpan<Value>(span: Span, parent: Context, action: () => Value): Value {
  return context.with(trace.setSpan(parent, span), action)
}

/** The trace of log lines, as fields; none outside of a trace. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const span = trace.getActiveSpan()?.spanContext()
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }
}
