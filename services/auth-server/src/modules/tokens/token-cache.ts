import { LRUCache } from 'lru-cache'
import type { IssuedToken } from '../../domain/token-record.js'

/** Maximum number of access items cached over all tokens. A token without any counts as one. */
export const ACCESS_ITEMS_KEPT_MAX = 50_000

/** Caches tokens, dropping the least recently used. Only what changes with its grant is cached here. */
export class TokenCache {
  readonly #kept = new LRUCache<string, IssuedToken>({
    maxSize: ACCESS_ITEMS_KEPT_MAX,
    sizeCalculation: ({ access }) => Math.max(1, access.items.length)
  })

  get(tokenHash: Buffer): IssuedToken | undefined {
    return this.#kept.get(keyOf(tokenHash))
  }

  set(tokenHash: Buffer, token: IssuedToken): void {
    this.#kept.set(keyOf(tokenHash), token)
  }
}

function keyOf(tokenHash: Buffer): string {
  return tokenHash.toString('base64')
}
