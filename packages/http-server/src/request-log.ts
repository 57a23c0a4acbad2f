import type { Logger } from '@open-payments-server/runtime'
import type { RequestEnd } from './request-span.js'

/** The line in the log that every request is. */
export class RequestLog {
  readonly #logger: Logger
  /** Loggers by route and method, of which there are so many as an app has: both are put into words once. */
  readonly #loggers = new Map<string, Map<string, Logger>>()

  constructor(logger: Logger) {
    // Numbers and words from closed sets: there is nothing to strike out.
    this.#logger = logger.child({}, { redact: [] })
  }

  /**
   * Tells of a request that is over.
   *
   * @param method as sent: one of those that Node's parser knows
   * @param aborted whether the client has not got the whole answer
   */
  tell(method: string, { route, status }: RequestEnd, durationMs: number, aborted: boolean): void {
    this.#loggerOf(route, method).info(
      { status, durationMs: Math.round(durationMs * 1_000) / 1_000, aborted },
      'request'
    )
  }

  #loggerOf(route: string, method: string): Logger {
    const ofRoute = this.#loggers.get(route) ?? new Map<string, Logger>()
    const known = ofRoute.get(method)
    if (known !== undefined) return known
    const logger = this.#logger.child({ method, route })
    this.#loggers.set(route, ofRoute.set(method, logger))
    return logger
  }
}
