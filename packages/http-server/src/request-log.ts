import { type LineTrace, type Logger, prepareLine, type WriteLine } from '@open-payments-server/runtime'
import type { RequestEnd } from './request-span.js'

/** A request that is over. */
export interface LoggedRequest {
  /** As sent: one of those that Node's parser knows. */
  readonly method: string
  readonly end: RequestEnd
  readonly durationMs: number
  /** Whether the client has not got the whole answer. */
  readonly aborted: boolean
  /** The trace that it is a part of. */
  readonly traced: LineTrace
}

/** The line in the log that every request is. */
export class RequestLog {
  readonly #logger: Logger
  /** By route and method, of which there are so many as an app has. */
  readonly #lines = new Map<string, Map<string, WriteLine>>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Tells of a request. */
  tell({ method, end: { route, status }, durationMs, aborted, traced }: LoggedRequest): void {
    const write = this.#lineOf(route, method)
    write({ status, durationMs: Math.round(durationMs * 1_000) / 1_000, aborted }, traced)
  }

  #lineOf(route: string, method: string): WriteLine {
    const ofRoute = this.#lines.get(route) ?? new Map<string, WriteLine>()
    const known = ofRoute.get(method)
    if (known !== undefined) return known
    const line = prepareLine(this.#logger, { method, route }, 'request')
    this.#lines.set(route, ofRoute.set(method, line))
    return line
  }
}
