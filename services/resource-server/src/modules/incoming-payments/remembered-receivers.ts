import { LRUCache } from 'lru-cache'
import type { Receiver, ReceiverDirectory, RememberedReceivers } from '../../domain/receiver.js'

/** Most receivers that are remembered. */
const REMEMBERED_MAX = 10_000

/**
 * Remembers of each receiver what never changes, its asset, maximum and expiry, so that paying or quoting the same one again
 * needs no look at the database before that. What it has received is not remembered: it counts as nothing here, and the
 * statement that persists the payment, or the quote, looks at what is true then.
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
