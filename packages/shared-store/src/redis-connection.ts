import { once } from 'node:events'
import type { OpenedClient, RedisClient, RedisClients } from './redis-clients.js'
import type { RedisAddress, RedisPlace } from './redis-place.js'
import { SharedStoreUnavailable } from './shared-store.js'

/** How to reach a Redis. */
export interface RedisStoreOptions {
  readonly place: RedisPlace
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
export class RedisConnection<Client extends RedisClient = RedisClient> {
  readonly #options: RedisStoreOptions
  readonly #clients: RedisClients
  readonly #address: () => RedisAddress | undefined
  readonly redis: Client
  #becomingReady: Promise<unknown> | undefined
  #closed = false

  constructor(options: RedisStoreOptions, clients: RedisClients, { client, address }: OpenedClient<Client>) {
    this.#options = options
    this.#clients = clients
    this.#address = address
    this.redis = client
    client.on('error', (error: Error) => options.onConnectionError?.(error))
    if (client.isCluster) client.on('node error', (error: Error) => options.onConnectionError?.(error))
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
  async run<Result>(command: (redis: Client) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new SharedStoreUnavailable('the store is closed')
    try {
      if (!this.isReady()) await this.#ready()
      return await this.#inTime(command(this.redis))
    } catch (error) {
      throw new SharedStoreUnavailable('Redis did not answer', { cause: error })
    }
  }

  /**
   * The same, on a server that was the primary until a moment ago: a former one takes commands until it learns of the other one.
   *
   * @param leaseMs how long before the answer this may have been known; 0 if it must have been the primary even then
   */
  async runOnPrimary<Result>(leaseMs: number, command: (redis: Client) => Promise<Result>): Promise<Result> {
    let address: RedisAddress | undefined
    const result = await this.run((redis) => {
      address = this.#address()
      return command(redis)
    })
    try {
      await this.#clients.confirm(address, leaseMs)
    } catch (error) {
      throw new SharedStoreUnavailable('it is unknown whether that Redis was the primary', { cause: error })
    }
    return result
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { status } = this.redis
    // Its errors are told elsewhere, and are no reason not to close.
    const ended = new Promise((resolve) => this.redis.once('end', resolve))
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

  /** A cluster keeps commands, without a time limit, while it knows of no node for them. */
  async #inTime<Result>(result: Promise<Result>): Promise<Result> {
    if (!this.redis.isCluster) return result
    result.catch(() => undefined)
    const over = new AbortController()
    const { commandTimeoutMs } = this.#options
    const late = new Promise<never>((_resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no answer within ${String(commandTimeoutMs)} ms`))
      }, commandTimeoutMs)
      over.signal.addEventListener('abort', () => {
        clearTimeout(timer)
      })
    })
    return Promise.race([result, late]).finally(() => {
      over.abort()
    })
  }
}
