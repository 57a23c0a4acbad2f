import { setTimeout as delay } from 'node:timers/promises'
import type { RawQueries } from '@open-payments-server/database'
import type { Logger, Part } from '@open-payments-server/runtime'
import type { StoredEvent } from './event.js'
import type { EventNews } from './news.js'
import { NumberAhead, readEvents, readNewestNumber } from './read.js'

/** Maximum number of events that one statement reads. */
const READ_TOGETHER_MAX = 1_000

/** How long to wait after a failure, in milliseconds: short, because whoever follows learns nothing meanwhile. */
const RETRY_AFTER_MS = 100

/** What a tail needs. */
export interface EventTailDependencies {
  readonly database: RawQueries
  readonly news: EventNews
  readonly logger: Logger
  /**
   * Is told of every event in the order of their numbers, one call after the other. If it rejects, it is told of the same events
   * again.
   */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>
  /** Events may have been missed, and others lost by the database: whatever is known may be wrong. */
  readonly onGap: () => Promise<void>
}

/** Reads the events of a service as they are published, for everyone in this process who follows them. */
export interface EventTail extends Part {
  /**
   * Begins to read if nobody has. It holds no connection while it waits.
   *
   * @returns resolves once every event that is published from then on is told; rejects when the database does not answer
   */
  begin(): Promise<void>
  /** Stops reading until somebody begins again. */
  pause(): void
}

/** Creates a tail that does not read yet. */
export function createEventTail(dependencies: EventTailDependencies): EventTail {
  let reading: Reading | undefined
  return {
    name: 'event tail',
    async begin() {
      const begun = (reading ??= new Reading(dependencies))
      try {
        await begun.positioned
      } catch (error) {
        if (reading === begun) reading = undefined
        throw error
      }
    },
    pause() {
      reading?.end()
      reading = undefined
    },
    async stop() {
      const last = reading
      reading = undefined
      last?.end()
      await last?.ended
    }
  }
}

/** Reading from one instant on. */
class Reading {
  /** Resolves once its place is known. */
  readonly positioned: Promise<void>
  /** Resolves once it has ended. */
  readonly ended: Promise<void>
  readonly #dependencies: EventTailDependencies
  readonly #over = new AbortController()
  /** Ends the wait for news. */
  #waiting = new AbortController()
  #afterNumber = 0n

  constructor(dependencies: EventTailDependencies) {
    this.#dependencies = dependencies
    this.positioned = this.#position()
    this.ended = this.positioned.then(
      () => this.#run(),
      () => undefined // told to whoever began
    )
  }

  end(): void {
    this.#over.abort()
    this.#waiting.abort()
  }

  async #position(): Promise<void> {
    this.#afterNumber = await readNewestNumber(this.#dependencies.database)
  }

  async #run(): Promise<void> {
    const { news, logger } = this.#dependencies
    while (!this.#over.signal.aborted) {
      this.#waiting = new AbortController()
      // Begun before reading, so that what is published meanwhile ends the wait.
      const published = news.next(this.#waiting.signal)
      try {
        if (await this.#read()) this.#waiting.abort()
      } catch (error) {
        logger.warn({ err: error }, 'events cannot be read: whoever follows them learns nothing for now')
        await delay(RETRY_AFTER_MS, undefined, { signal: this.#over.signal }).catch(() => undefined) // it ended
        this.#waiting.abort()
      }
      await published
    }
  }

  /** @returns whether there may be more */
  async #read(): Promise<boolean> {
    const { database, onEvents, onGap } = this.#dependencies
    try {
      const query = { afterNumber: this.#afterNumber, types: [], countMax: READ_TOGETHER_MAX }
      const { events, toNumber, more, resync } = await readEvents(database, query)
      if (this.#over.signal.aborted) return false
      if (resync !== undefined) await onGap()
      if (events.length > 0) await onEvents(events)
      this.#afterNumber = toNumber
      return more
    } catch (error) {
      if (!(error instanceof NumberAhead)) throw error
      await this.#position()
      await onGap()
      return true
    }
  }
}
