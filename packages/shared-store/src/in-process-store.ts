import {
  assertMarkable,
  isRemembered,
  SharedStoreUnavailable,
  type SharedStore,
  type SubscriptionHandlers
} from './shared-store.js'

/** Most marks at a time; about 200 MB with long keys. Forgetting a mark early would allow a replay, so more are refused. */
const marksMax = 1_000_000
/** The first clearing out of what has expired; afterwards whenever the number has doubled. */
const firstSweep = 1_024
/** A full store looks for expired marks at most this often. */
const fullSweepEveryMs = 1_000

/**
 * The store of a service that runs as a single process. Bounded: beyond a million live marks it throws
 * SharedStoreUnavailable instead of forgetting one.
 *
 * It knows nothing of what was marked before it was made.
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
  live = true

  constructor(
    private readonly handlers: SubscriptionHandlers,
    private readonly forget: () => void
  ) {}

  /** Later, as over a network, so that a publisher never runs a subscriber's code, nor fails with it. */
  deliver(message: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        // What waits for the promise goes on after the subscriber has heard, and does so even if it fails.
        resolve()
        if (this.live) this.handlers.onMessage(message)
      })
    })
  }

  close(): Promise<void> {
    this.live = false
    this.forget()
    return Promise.resolve()
  }
}

class ExpiringMarks {
  private readonly expiries = new Map<string, number>()
  private nextSweep = firstSweep
  private nextFullSweepAt = -Infinity

  constructor(private readonly clock: () => number) {}

  /** True when the key was not marked. */
  add(key: string, lifetimeMs: number): boolean {
    const now = this.clock()
    const expiry = this.expiries.get(key)
    if (expiry !== undefined && expiry > now) return false
    this.makeRoom(now)
    this.expiries.set(key, now + lifetimeMs)
    return true
  }

  private makeRoom(now: number): void {
    if (this.expiries.size < this.nextSweep) return
    const full = this.expiries.size >= marksMax
    if (!full || now >= this.nextFullSweepAt) {
      for (const [key, expiry] of this.expiries) if (expiry <= now) this.expiries.delete(key)
      this.nextSweep = Math.min(marksMax, Math.max(firstSweep, this.expiries.size * 2))
      if (full) this.nextFullSweepAt = now + fullSweepEveryMs
    }
    if (this.expiries.size >= marksMax) {
      throw new SharedStoreUnavailable(`${String(marksMax)} marks are in use; more than one process can hold`)
    }
  }
}
