import { once } from 'node:events'
import { Redis } from 'ioredis'
import { SharedStoreUnavailable } from './shared-store.js'

const firstRetryMs = 50
const lastRetryMs = 2_000

/** How to reach a Redis. */
export interface RedisStoreOptions {
  /** `redis://` or `rediss://` (TLS), with user and password where the server wants them. */
  readonly url: string
  /** Put before every key and channel, so that several systems may share a server. */
  readonly keyPrefix: string
  /** How long any one operation may take, connecting included. */
  readonly commandTimeoutMs: number
  /** Milliseconds since 1970; the system's clock unless given. */
  readonly clock?: () => number
  /**
   * How far ahead of this clock the time may lie at which something marked says it was made, in seconds; and how far the
   * clocks of the replicas may be apart. A minute unless given.
   */
  readonly aheadMaxSeconds?: number
  /** Told of each failed or broken connection. It is tried again in any case. */
  readonly onConnectionError?: (error: Error) => void
  /** Told, at each connection, by which policy the server evicts keys when it is full, where it does. */
  readonly onEvictionPossible?: (policy: string) => void
}

/** One connection that comes back by itself, and commands on it that answer or fail in time, and are never repeated. */
export class RedisConnection {
  readonly redis: Redis
  private becomingReady: Promise<unknown> | undefined
  private closed = false

  constructor(private readonly options: RedisStoreOptions) {
    const { commandTimeoutMs } = options
    this.redis = new Redis(options.url, {
      lazyConnect: true,
      connectTimeout: commandTimeoutMs,
      commandTimeout: commandTimeoutMs,
      // A server that has gone without a word: unanswered commands end the connection, and a new one is made.
      socketTimeout: commandTimeoutMs,
      // Whether a command may be repeated is for the caller to know: a mark that is set twice refuses its own caller.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      retryStrategy: (attempt) => Math.min(firstRetryMs * 2 ** Math.min(attempt, 10), lastRetryMs)
    })
    this.redis.on('error', (error: Error) => options.onConnectionError?.(error))
  }

  /** Connects without waiting for it. It is tried until it succeeds. */
  connect(): void {
    // Its failure is the `error` event.
    if (this.redis.status === 'wait') this.redis.connect().catch(() => undefined)
  }

  isReady(): boolean {
    return this.redis.status === 'ready'
  }

  /**
   * Runs a command on the ready connection, connecting first where needed.
   *
   * @throws SharedStoreUnavailable with the reason as its cause
   */
  async run<Result>(command: (redis: Redis) => Promise<Result>): Promise<Result> {
    if (this.closed) throw new SharedStoreUnavailable('the store is closed')
    try {
      if (!this.isReady()) await this.ready()
      return await command(this.redis)
    } catch (error) {
      throw new SharedStoreUnavailable('Redis did not answer', { cause: error })
    }
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    const { status } = this.redis
    const ended = once(this.redis, 'end')
    this.redis.disconnect()
    // Nothing is open then, and the library says no more.
    if (status !== 'end' && status !== 'reconnecting') await ended
  }

  /** Shared by everyone who waits. Fails with the first error of the connection, or when the time is up. */
  private ready(): Promise<unknown> {
    const signal = AbortSignal.timeout(this.options.commandTimeoutMs)
    this.becomingReady ??= once(this.redis, 'ready', { signal }).finally(() => {
      this.becomingReady = undefined
    })
    this.connect()
    return this.becomingReady
  }
}
