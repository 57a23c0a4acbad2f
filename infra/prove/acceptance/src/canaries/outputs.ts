import { type Logger, createLogger } from '@open-payments-server/runtime'
import { scrapeMetrics, type TestDatabase } from '@open-payments-server/testing'
import { Redis } from 'ioredis'
import type { Output } from './canaries.js'

/** Keeps every output of the services. */
export class Outputs {
  readonly #all: Output[] = []
  readonly #known = new Set<string>()
  /** Lines of logs, as they were written. */
  readonly logLines: string[] = []

  get all(): readonly Output[] {
    return this.#all
  }

  /** Keeps a text once for each place, because most response headers are always the same. */
  add(place: string, text: string): void {
    const key = `${place}\n${text}`
    if (this.#known.has(key)) return
    this.#known.add(key)
    this.#all.push({ place, text })
  }

  /** A log at its most verbose level. */
  logger(service: string): Logger {
    const destination = {
      write: (text: string): void => {
        this.logLines.push(text)
        this.add(`log of ${service}`, text)
      }
    }
    return createLogger({ service, level: 'trace', destination })
  }

  /** Captures the output of this process and its console until it is stopped. */
  catchStreams(): () => void {
    const streams = [
      { name: 'standard output', stream: process.stdout },
      { name: 'standard error', stream: process.stderr }
    ].map(({ name, stream }) => {
      const write = stream.write.bind(stream)
      stream.write = (chunk: string | Uint8Array, ...rest: []) => {
        this.add(name, Buffer.from(chunk).toString())
        return write(chunk, ...rest)
      }
      return () => {
        stream.write = write
      }
    })
    const methods = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const
    const originals = methods.map((method) => {
      // This test alone runs in its process, so nothing else writes there.
      const original = console[method]
      console[method] = (...parts: unknown[]) => {
        this.add('console', parts.map(String).join(' '))
      }
      return () => {
        console[method] = original
      }
    })
    return () => {
      for (const restore of [...streams, ...originals]) restore()
    }
  }

  /** Keeps every value of every column of every table. */
  async addDatabase(name: string, database: TestDatabase): Promise<void> {
    const tables = await database.query<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`
    )
    for (const table of tables) {
      const rows = await database.query<{ row: Record<string, unknown> }>(
        `select to_jsonb(t) as row from ${table.name} t`
      )
      for (const [column, value] of rows.flatMap(({ row }) => Object.entries(row))) {
        const text = typeof value === 'string' ? value : JSON.stringify(value)
        if (value !== null) this.add(`database of ${name}, ${table.name}.${column}`, text)
      }
    }
  }

  /** Keeps every key of a Redis, and its value as text. */
  async addRedis(url: string): Promise<void> {
    const redis = new Redis(url)
    try {
      for (const key of await redis.keys('*')) {
        this.add('Redis, key', key)
        if ((await redis.type(key)) === 'string') this.add('Redis, value', (await redis.get(key)) ?? '')
      }
    } finally {
      redis.disconnect()
    }
  }

  async addMetrics(service: string, port: number | undefined): Promise<void> {
    this.add(`metrics of ${service}`, (await scrapeMetrics(port)).text)
  }
}
