import {
  assertKey,
  assertMarkable,
  isRemembered,
  SharedStoreUnavailable,
  type SharedStore,
  type SubscriptionHandlers
} from './shared-store.js'

/**
 * Maximum number of marks; about 200 MB with long keys. Dropping a mark early would allow a replay, so more are refused.
 */
const marksMax = 1_000_000
/** The first removal of expired marks; afterwards whenever the number has doubled. */
const firstSweep = 1_024
/** Minimum time between two searches of a full store for expired marks. */
const fullSweepEveryMs = 1_000

/**
 * The store of a service that runs as a single process. Bounded: beyond a million active marks it throws
 * SharedStoreUnavailable instead of dropping one.
 *
 * It knows nothing of marks from before it was created.
 *
 * @param clock milliseconds since 1970
 */
export function createInProcessStore(clock: () => number = Date.now): SharedStore {
  const epochMs = clock()
  const marks = new ExpiringMarks(clock)
  const channels = new Map<string, Set<LocalSubscription>>()
  let closed = false
  const assertOpen = (): void => {
    if (closed) throw new SharedStoreUnavailable('the store is closed')
  }
  return {
    async markOnce(key, lifetimeSeconds, createdSeconds) {
      assertMarkable(key, lifetimeSeconds)
      assertOpen()
      return marks.add(key, lifetimeSeconds * 1_000) && isRemembered(createdSeconds, epochMs)
    },
    async wasMarked(key, createdSeconds) {
      assertKey(key)
      assertOpen()
      return marks.has(key) || !isRemembered(createdSeconds, epochMs)
    },
    async publish(channel, message) {
      assertOpen()
      const subscriptions = [...(channels.get(channel) ?? [])]
      await Promise.all(subscriptions.map((subscription) => subscription.deliver(message.slice())))
    },
    async subscribe(channel, handlers) {
      assertOpen()
      const subscriptions = channels.get(channel) ?? new Set()
      channels.set(channel, subscriptions)
      const subscription = new LocalSubscription(handlers, () => {
        subscriptions.delete(subscription)
        if (subscriptions.size === 0 && channels.get(channel) === subscriptions) channels.delete(channel)
      })
      subscriptions.add(subscription)
      return subscription
    },
    async check() {
      assertOpen()
    },
    async close() {
      closed = true
      await Promise.all([...channels.values()].flatMap((all) => [...all]).map((one) => one.close()))
    }
  }
}

class LocalSubscription {
  readonly #handlers: SubscriptionHandlers
  readonly #forget: () => void
  live = true

  constructor(handlers: SubscriptionHandlers, forget: () => void) {
    this.#handlers = handlers
    this.#forget = forget
  }

  /** Asynchronous, as over a network, so that a publisher never runs a subscriber's code, nor fails with it. */
  deliver(message: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        // Code that awaits the promise continues after the subscriber was called, even if that fails.
        resolve()
        if (this.live) this.#handlers.onMessage(message)
      })
    })
  }

  close(): Promise<void> {
    this.live = false
    this.#forget()
    return Promise.resolve()
  }
}

class ExpiringMarks {
  readonly #clock: () => number
  readonly #expiries = new Map<string, number>()
  #nextSweep = firstSweep
  #nextFullSweepAtMs = -Infinity

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Whether the key is marked. */
  has(key: string): boolean {
    const expiry = this.#expiries.get(key)
    return expiry !== undefined && expiry > this.#clock()
  }

  /** True when the key was not marked. */
  add(key: string, lifetimeMs: number): boolean {
    const nowMs = this.#clock()
    const expiry = this.#expiries.get(key)
    if (expiry !== undefined && expiry > nowMs) return false
    this.#makeRoom(nowMs)
    this.#expiries.set(key, nowMs + lifetimeMs)
    return true
  }

  #makeRoom(nowMs: number): void {
    if (this.#expiries.size < this.#nextSweep) return
    const full = this.#expiries.size >= marksMax
    if (!full || nowMs >= this.#nextFullSweepAtMs) {
      for (const [key, expiry] of this.#expiries) if (expiry <= nowMs) this.#expiries.delete(key)
      this.#nextSweep = Math.min(marksMax, Math.max(firstSweep, this.#expiries.size * 2))
      if (full) this.#nextFullSweepAtMs = nowMs + fullSweepEveryMs
    }
    if (this.#expiries.size >= marksMax) {
      throw new SharedStoreUnavailable(`${String(marksMax)} marks are in use; more than one process can keep`)
    }
  }
}
