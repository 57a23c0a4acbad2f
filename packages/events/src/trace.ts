import { readBytes } from '@open-payments-server/database'
import { context, isSpanContextValid, trace } from '@opentelemetry/api'

/** Version of `traceparent` (W3C Trace Context). */
const VERSION = '00'

/**
 * The trace that this code runs in, as a value of the column `trace`: version, trace id, span id and flags, in hexadecimal.
 *
 * @returns null outside of any trace
 */
export function currentTrace(): string | null {
  const span = trace.getSpanContext(context.active())
  if (span === undefined || !isSpanContextValid(span)) return null
  return `${VERSION}${span.traceId}${span.spanId}${span.traceFlags.toString(16).padStart(2, '0')}`
}

/** `traceparent` (W3C Trace Context) of a value of the column `trace`, as a statement returns it. */
export function traceParentOf(column: string): string {
  const digits = readBytes(column).toString('hex')
  return [digits.slice(0, 2), digits.slice(2, 34), digits.slice(34, 50), digits.slice(50)].join('-')
}
