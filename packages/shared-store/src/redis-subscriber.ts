import type { Redis } from 'ioredis'
import type { RedisClients } from './redis-clients.js'
import { RedisConnection, type RedisStoreOptions } from './redis-connection.js'
import type { Subscription, SubscriptionHandlers } from './shared-store.js'

/** Interval of heartbeats on a silent connection. */
const heartbeatMs = 1_000

/**
 * The subscriptions of one store, on a separate connection. A broken connection is detected within the heartbeat plus the
 * command timeout, even if the network drops it silently.
 */
export class RedisSubscriber {
  readonly #options: RedisStoreOptions
  readonly #connection: RedisConnection<Redis>
  readonly #channels = new Map<string, Set<RedisSubscription>>()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: RedisStoreOptions, clients: RedisClients) {
    this.#options = options
    this.#connection = new RedisConnection(options, clients, clients.openOne())
    const { redis } = this.#connection
    redis.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      for (const one of this.#channels.get(channel.toString()) ?? []) one.deliver(message)
    })
    redis.on('ready', () => void this.#resubscribe())
    redis.on('close', () => {
      for (const one of this.#all()) one.interrupt()
    })
  }

  /** @throws SharedStoreUnavailable */
  async subscribe(name: string, handlers: SubscriptionHandlers): Promise<Subscription> {
    const channel = this.#options.keyPrefix + name
    const subscription: RedisSubscription = new RedisSubscription(handlers, () =>
      this.#remove(channel, subscription)
    )
    const subscriptions = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, subscriptions.add(subscription))
    try {
      await this.#connection.run((redis) => redis.subscribe(channel))
    } catch (error) {
      await subscription.close()
      throw error
    }
    subscription.establish()
    this.#heartbeat ??= setInterval(() => void this.#beat(), heartbeatMs).unref()
    return subscription
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat)
    for (const one of this.#all()) one.end()
    this.#channels.clear()
    await this.#connection.close()
  }

  #all(): RedisSubscription[] {
    return [...this.#channels.values()].flatMap((subscriptions) => [...subscriptions])
  }

  async #remove(channel: string, subscription: RedisSubscription): Promise<void> {
    const subscriptions = this.#channels.get(channel)
    if (subscriptions?.delete(subscription) !== true || subscriptions.size > 0) return
    this.#channels.delete(channel)
    const { redis } = this.#connection
    // A missing connection has no subscriptions; one that breaks meanwhile loses them.
    if (this.#connection.isReady()) await redis.unsubscribe(channel).catch(() => undefined)
  }

  /** After each connect. Those still waiting for their first confirmation are confirmed by their own command. */
  async #resubscribe(): Promise<void> {
    const { redis } = this.#connection
    const channels = [...this.#channels.keys()]
    if (channels.length === 0) return
    try {
      await redis.subscribe(...channels)
    } catch {
      redis.disconnect(true) // half a connection is worse than none: try the next one
      return
    }
    for (const channel of channels) for (const one of this.#channels.get(channel) ?? []) one.resume()
  }

  /** The timeouts of the connection close it when no answer comes. */
  async #beat(): Promise<void> {
    const { redis } = this.#connection
    if (!this.#connection.isReady()) return
    try {
      if (this.#options.place.topology !== 'cluster') await redis.ping()
      // A node that lost the others answers, and has none of their messages.
      else if (!(await redis.cluster('INFO')).includes('cluster_state:ok')) redis.disconnect(true)
    } catch {
      if (this.#connection.isReady()) redis.disconnect(true)
    }
  }
}

class RedisSubscription implements Subscription {
  readonly #handlers: SubscriptionHandlers
  readonly #remove: () => Promise<void>
  live = false
  #state: 'waiting' | 'established' | 'ended' = 'waiting'

  constructor(handlers: SubscriptionHandlers, remove: () => Promise<void>) {
    this.#handlers = handlers
    this.#remove = remove
  }

  establish(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'established'
    this.live = true
  }

  deliver(message: Uint8Array): void {
    this.#tell(() => {
      this.#handlers.onMessage(message)
    })
  }

  interrupt(): void {
    if (!this.live) return
    this.live = false
    this.#tell(this.#handlers.onInterrupted)
  }

  resume(): void {
    if (this.live || this.#state !== 'established') return
    this.live = true
    this.#tell(this.#handlers.onResumed)
  }

  end(): void {
    this.#state = 'ended'
    this.live = false
  }

  async close(): Promise<void> {
    this.end()
    await this.#remove()
  }

  /** In order, but not inside the connection's reader, which an error of a handler would break. */
  #tell(handler: () => void): void {
    queueMicrotask(() => {
      if (this.#state !== 'ended') handler()
    })
  }
}
