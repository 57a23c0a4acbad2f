import type { Clock } from '@open-payments-server/value-types/clock'
import { LRUCache } from 'lru-cache'
import type { PayableReceiver } from './receiver.js'

/** For how long what was read when a payment was priced is good enough to send it, in milliseconds. */
const FRESH_MS = 10_000
const KEPT_MAX = 10_000

/** Receivers that were read a moment ago. One that changed since says so itself: it takes no packets. */
export interface RecentReceivers {
  remember(receiver: PayableReceiver): void
  /** A receiver (URL) that can still be paid; undefined if it was not read a moment ago. */
  find(url: string): PayableReceiver | undefined
  forget(url: string): void
}

/** Remembers receivers in this process. */
export function createRecentReceivers(clock: Clock): RecentReceivers {
  const kept = new LRUCache<string, { readonly receiver: PayableReceiver; readonly readAtMs: number }>({
    max: KEPT_MAX
  })
  return {
    remember(receiver) {
      kept.set(receiver.url, { receiver, readAtMs: clock.now() })
    },
    find(url) {
      const known = kept.get(url)
      if (known === undefined) return undefined
      const nowMs = clock.now()
      const { expiresAtMs = Infinity } = known.receiver
      return nowMs - known.readAtMs < FRESH_MS && nowMs < expiresAtMs ? known.receiver : undefined
    },
    forget(url) {
      kept.delete(url)
    }
  }
}
