import { LRUCache } from 'lru-cache'
import type { Receiver, ReceiverDirectory } from '../../domain/receiver.js'

/** Most receivers that are remembered. */
const REMEMBERED_MAX = 10_000

/** A directory that remembers. */
export interface RememberedReceivers extends ReceiverDirectory {
  /** Looks this one up anew next time: it turned out to be unpayable. */
  forget(url: string): void
}

/**
 * Remembers of each receiver what never changes, its asset, maximum and expiry, so that paying the same one again needs
 * no look at the database before the grant is asked. What it has received is not remembered: it counts as nothing here,
 * and the statement that persists the payment looks at what is true then.
 */
export function rememberReceivers(receivers: ReceiverDirectory): RememberedReceivers {
  const remembered = new LRUCache<string, Receiver>({ max: REMEMBERED_MAX })
  return {
    async find(url) {
      const known = remembered.get(url)
      if (known !== undefined) return known
      const receiver = await receivers.find(url)
      if (receiver?.completed === false) remembered.set(url, { ...receiver, receivedValue: 0n })
      return receiver
    },
    forget: (url) => {
      remembered.delete(url)
    }
  }
}
