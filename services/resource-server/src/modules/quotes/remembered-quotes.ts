import { LRUCache } from 'lru-cache'
import { isOwnedBy, type PayableQuote, type RememberedQuotes } from '../../domain/quote.js'

/** Maximum number of cached quotes. */
const REMEMBERED_MAX = 10_000

/**
 * Caches the latest quotes, so that paying one on the replica that created it needs no statement beforehand. Each is handed
 * out once: for a second payment, the database tells that it was used.
 */
export function rememberQuotes(): RememberedQuotes {
  const remembered = new LRUCache<string, PayableQuote>({ max: REMEMBERED_MAX })
  return {
    remember: (id, quote) => {
      remembered.set(id, quote)
    },
    take(id, owner) {
      const quote = remembered.get(id)
      if (quote === undefined || !isOwnedBy(quote, owner)) return undefined
      remembered.delete(id)
      return quote
    }
  }
}
