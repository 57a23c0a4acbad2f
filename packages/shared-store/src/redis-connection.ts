import { once } from 'node:events'
import { Redis } from 'ioredis'
import { SharedStoreUnavailable } from './shared-store.js'

const firstRetryMs = 50
const lastRetryMs = 2_000

/** How to reach a Redis. */
export interface RedisStoreOptions {
  /** `redis://` or `rediss://` (TLS), with user and password if the server requires them. */
  readonly url: string
  /** Prefix of every key and channel, so that several systems may share a server. */
  readonly keyPrefix: string
  /** Maximum duration of any operation, including connecting. */
  readonly commandTimeoutMs: number
  /** Milliseconds since 1970; the system's clock unless given. */
  readonly clock?: () => number
  /**
   * How far ahead of this clock a marked creation time may be, in seconds, and how far the replicas' clocks may differ.
   * Default a minute.
   */
  readonly aheadMaxSeconds?: number
  /** Called for each failed or broken connection. It is retried in any case. */
  readonly onConnectionError?: (error: Error) => void
  /** Called on each connection with the server's eviction policy, if it evicts. */
  readonly onEvictionPossible?: (policy: string) => void
}

/** One connection that reconnects by itself, and commands on it that answer or fail in time, and are never retried. */
export class RedisConnection {
  readonly #options: RedisStoreOptions
  readonly redis: Redis
  #becomingReady: Promise<unknown> | undefined
  #closed = false

  constructor(options: RedisStoreOptions) {
    this.#options = options
    const { commandTimeoutMs } = options
    this.redis = new Redis(options.url, {
      lazyConnect: true,
      connectTimeout: commandTimeoutMs,
      commandTimeout: commandTimeoutMs,
      // If a server disappears silently, unanswered commands close the connection, and a new one is made.
      socketTimeout: commandTimeoutMs,
      // Only the caller knows whether a command may be repeated: setting a mark twice would refuse its own caller.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      retryStrategy: (attempt) => Math.min(firstRetryMs * 2 ** Math.min(attempt, 10), lastRetryMs)
    })
    this.redis.on('error', (error: Error) => options.onConnectionError?.(error))
  }

  /** Starts connecting. It is retried until it succeeds. */
  connect(): void {
    // Its failure is the `error` event.
    if (this.redis.status === 'wait') this.redis.connect().catch(() => undefined)
  }

  isReady(): boolean {
    return this.redis.status === 'ready'
  }

  /**
   * Runs a command on the ready connection, connecting first if needed.
   *
   * @throws SharedStoreUnavailable with the reason as its cause
   */
  async run<Result>(command: (redis: Redis) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new SharedStoreUnavailable('the store is closed')
    try {
      if (!this.isReady()) await this.#ready()
      return await command(this.redis)
    } catch (error) {
      throw new SharedStoreUnavailable('Redis did not answer', { cause: error })
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { status } = this.redis
    const ended = once(this.redis, 'end')
    this.redis.disconnect()
    // Nothing is open then, and the library emits no more events.
    if (status !== 'end' && status !== 'reconnecting') await ended
  }

  /** Shared by all waiting callers. Fails with the first error of the connection, or when the time has passed. */
  #ready(): Promise<unknown> {
    const signal = AbortSignal.timeout(this.#options.commandTimeoutMs)
    this.#becomingReady ??= once(this.redis, 'ready', { signal }).finally(() => {
      this.#becomingReady = undefined
    })
    this.connect()
    return this.#becomingReady
  }
}
