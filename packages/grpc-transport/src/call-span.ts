import { Metadata, status } from '@grpc/grpc-js'
import { type Attributes, context, SpanKind, trace } from '@opentelemetry/api'
import { continueTrace, endFailedSpan, isTraced, sendTrace, withinSpan } from '@open-payments-server/runtime'

const tracer = trace.getTracer('@open-payments-server/grpc-transport')
const TRACEPARENT = 'traceparent'

/** Codes that mean a failure of the server rather than a refused call (OpenTelemetry: gRPC). */
const SERVER_FAILURES: ReadonlySet<status> = new Set([
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS
])

/** The span of a unary call. */
export interface CallSpan {
  /** Runs something as part of it; the span continues afterwards. */
  within<Value>(action: () => Value): Value
  /** Ends it with the call's status code. */
  end(code: status): void
}

/**
 * Starts the span of a call that is answered here, in the trace of its caller. It does not contain messages or metadata.
 *
 * @param path such as `/openpayments.auth.v1.GrantLimitsService/Reserve`
 */
export function startServerSpan(path: string, metadata: Metadata): CallSpan {
  const parent = continueTrace(metadata.get(TRACEPARENT)[0], 'service')
  const { name, attributes } = describeMethod(path)
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
  return {
    within: (action) => withinSpan(span, parent, action),
    end(code) {
      const attributes = { 'rpc.response.status_code': status[code] }
      if (SERVER_FAILURES.has(code)) endFailedSpan(span, status[code], attributes)
      else {
        span.setAttributes(attributes)
        span.end()
      }
    }
  }
}

/** The span of an outgoing call, retries included, and the metadata that makes the other side's span its child. */
export interface ClientCallSpan {
  readonly metadata: Metadata
  end(code: status, retries: number): void
}

/**
 * Starts the span of a call, if it belongs to a recorded trace. The trace is sent to the other side in any case.
 *
 * @param metadata sent along too; not changed
 */
export function startClientSpan(path: string, metadata: Metadata | undefined): ClientCallSpan {
  const active = context.active()
  const { name, attributes } = describeMethod(path)
  const span = isTraced() ? tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, active) : undefined
  const sent = metadata?.clone() ?? new Metadata()
  sendTrace(span === undefined ? active : trace.setSpan(active, span), (name, value) => {
    sent.set(name, value)
  })
  return {
    metadata: sent,
    end(code, retries) {
      const attributes = { 'rpc.response.status_code': status[code], 'rpc.retries': retries }
      if (span === undefined) return
      if (code === status.OK) {
        span.setAttributes(attributes)
        span.end()
      } else endFailedSpan(span, status[code], attributes)
    }
  }
}

/** Common attributes of the spans of a method. */
interface MethodDescription {
  /** Service and method, without the leading slash. */
  readonly name: string
  readonly attributes: Attributes
}

/** By path. There are only as many as the contract has methods: no path comes from the other side. */
const descriptions = new Map<string, MethodDescription>()

function describeMethod(path: string): MethodDescription {
  const known = descriptions.get(path)
  if (known !== undefined) return known
  const name = path.slice(1)
  const description = { name, attributes: { 'rpc.system.name': 'grpc', 'rpc.method': name } }
  descriptions.set(path, description)
  return description
}
