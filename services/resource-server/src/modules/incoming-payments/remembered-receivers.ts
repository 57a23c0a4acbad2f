import { LRUCache } from 'lru-cache'
import type { Receiver, ReceiverDirectory, RememberedReceivers } from '../../domain/receiver.js'

/** Maximum number of cached receivers. */
const REMEMBERED_MAX = 10_000

/**
 * Caches what never changes of each receiver: its asset, maximum and expiry. So quoting or paying the same one again needs
 * no statement beforehand. What it has received is not cached and counts as nothing here: the statement that stores the
 * quote or the payment checks the current value.
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
