import type { Logger } from './logger.js'

/** A part of a service that is started once and stopped once. */
export interface Part {
  /** Its name in the log. */
  readonly name: string
  /** Stops it; resolves when it has released everything. */
  stop(): Promise<void>
}

/** A running service. */
export interface RunningService {
  /**
   * Stops its parts in reverse order of their start, so that each stops before those it depends on. May be called again.
   */
  stop(): Promise<void>
}

/**
 * Tracks the parts of a service in the order in which they were started, and stops them in reverse. A part that fails to
 * stop is logged and does not keep the others running.
 */
export class Lifecycle implements RunningService {
  readonly #logger: Logger
  readonly #parts: Part[] = []
  #stopping: Promise<void> | undefined

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Adds a part that was just started. */
  add(part: Part): void {
    this.#parts.push(part)
  }

  /** Stops every part, the last started first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopParts()
    return this.#stopping
  }

  async #stopParts(): Promise<void> {
    for (const part of this.#parts.toReversed()) {
      try {
        await part.stop()
        this.#logger.debug({ part: part.name }, 'part stopped')
      } catch (error) {
        this.#logger.error({ part: part.name, err: error }, 'part did not stop')
      }
    }
  }
}

/** Exit status of a service that stopped as requested. */
const EXIT_STOPPED = 0
/** Exit status of a service that could not start, or did not stop in time. */
const EXIT_FAILED = 1

/**
 * How long closing may take after running work had its time, in milliseconds. A supervisor must add it to the time it waits
 * before it kills the process.
 */
export const CLOSING_MAX_MS = 5_000

/**
 * Runs a service as the process: starts it, stops it on SIGTERM or SIGINT, and exits. A signal during startup is honoured
 * too: what was started is stopped. An uncaught error is logged and ends the process: a service in an unknown state must
 * not continue with money.
 *
 * @param options.stopMs how long listeners may take to stop; {@link CLOSING_MAX_MS} later the process exits regardless
 */
export function runProcess(options: {
  logger: Logger
  stopMs: number
  start: () => Promise<RunningService>
}): void {
  const { logger } = options
  let ending = false

  const end = (status: number, reason: object): void => {
    if (ending) return
    ending = true
    logger.info({ ...reason }, 'stopping')
    const limitMs = options.stopMs + CLOSING_MAX_MS
    const timer = setTimeout(() => {
      logger.error({ limitMs }, 'not stopped in time')
      process.exit(EXIT_FAILED)
    }, limitMs)
    timer.unref()
    // A service that could not start has stopped its own parts.
    const stopped = starting.then((service) => service.stop()).catch(() => undefined)
    void stopped.then(() => {
      logger.info({}, 'stopped')
      process.exit(status)
    })
  }

  process.once('SIGTERM', () => {
    end(EXIT_STOPPED, { signal: 'SIGTERM' })
  })
  process.once('SIGINT', () => {
    end(EXIT_STOPPED, { signal: 'SIGINT' })
  })
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught exception')
    end(EXIT_FAILED, { reason: 'uncaught exception' })
  })
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection')
    end(EXIT_FAILED, { reason: 'unhandled rejection' })
  })

  const starting = options.start()
  starting.catch((error: unknown) => {
    logger.fatal({ err: error }, 'could not start')
    end(EXIT_FAILED, { reason: 'could not start' })
  })
}
