import type { SpanContext } from '@opentelemetry/api'
import { type Logger, withoutChecks } from '@open-payments-server/runtime'
import type { RequestEnd } from './request-span.js'

/** A request that is over. */
export interface LoggedRequest {
  /** As sent: one of those that Node's parser knows. */
  readonly method: string
  readonly end: RequestEnd
  readonly durationMs: number
  /** Whether the client has not got the whole answer. */
  readonly aborted: boolean
  /** The trace that it is a part of: a connection may end outside of any, or within that of another request. */
  readonly traced: Pick<SpanContext, 'traceId' | 'spanId'>
}

/** The line in the log that every request is. */
export class RequestLog {
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = withoutChecks(logger)
  }

  /** Logs a request. */
  tell({ method, end: { route, status }, durationMs, aborted, traced }: LoggedRequest): void {
    this.#logger.info(
      {
        trace_id: traced.traceId,
        span_id: traced.spanId,
        method,
        route,
        status,
        durationMs: Math.round(durationMs * 1_000) / 1_000,
        aborted
      },
      'request'
    )
  }
}
