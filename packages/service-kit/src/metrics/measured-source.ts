import { type Logger, within } from '@open-payments-server/runtime'

/** Values by the key of their gauge. */
type Values = Readonly<Record<string, number>>

/** What a source needs. */
export interface MeasuredSourceOptions {
  /** What it is called in the log. */
  readonly name: string
  readonly read: () => Promise<Values>
  /** How long a scrape waits for it, in milliseconds. */
  readonly timeoutMs: number
  readonly logger: Logger
  /** Is given what was read; undefined when it could not be read. */
  readonly publish: (values: Values | undefined) => void
}

/** A source of gauges that may be slow or gone: no scrape waits for it too long, nor asks it while it still thinks. */
export class MeasuredSource {
  readonly #options: MeasuredSourceOptions
  #reading: Promise<Values> | undefined
  #failing = false

  constructor(options: MeasuredSourceOptions) {
    this.#options = options
  }

  /** Reads it and publishes what it said, or that it said nothing. Never rejects. */
  async refresh(): Promise<void> {
    const { name, publish, timeoutMs } = this.#options
    try {
      publish(await within(timeoutMs, name, this.#read()))
      this.#failing = false
    } catch (error) {
      publish(undefined)
      this.#tell(error)
    }
  }

  /** The read that is under way, or a new one. */
  #read(): Promise<Values> {
    this.#reading ??= this.#options.read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  #tell(error: unknown): void {
    // Once is enough to know; an outage must not fill the log.
    const level = this.#failing ? 'debug' : 'warn'
    this.#failing = true
    this.#options.logger[level]({ err: error, source: this.#options.name }, 'metrics not read')
  }
}
