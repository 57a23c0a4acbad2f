import { LRUCache } from 'lru-cache'
import { isOwnedBy, type PayableQuote, type RememberedQuotes } from '../../domain/quote.js'

/** Most quotes that are remembered. */
const REMEMBERED_MAX = 10_000

/**
 * Remembers the latest quotes, so that paying one where it was created needs no look at the database before that. Each is
 * handed out once: a second payment of it is told by the database that it was used.
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
