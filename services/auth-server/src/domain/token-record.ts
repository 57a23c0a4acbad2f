import type { RepeatingInterval } from '@open-payments-server/value-types/intervals'
import { LRUCache } from 'lru-cache'
import type { AccessItem } from './access.js'
import type { BoundClient } from './clients.js'

/** One right of a token. Never changes after it was granted. */
export interface GrantedAccessItem extends AccessItem {
  /** Id of the item (UUID). */
  readonly id: string
  /** `limits.interval`, parsed. */
  readonly interval: RepeatingInterval | undefined
}

/** What a token allows. Never changes, whatever happens to the token. */
export interface TokenAccess {
  /** Id of the grant (UUID). */
  readonly grantId: string
  /** In the order in which they were requested. */
  readonly items: readonly GrantedAccessItem[]
}

/** A token from its issue on. Never changes, whatever happens to it. */
export interface IssuedToken {
  readonly expiresAtMs: number
  /** The token holder, and the key the token is bound to. */
  readonly client: BoundClient
  readonly access: TokenAccess
  /** URL of the wallet address whose account holder consented to the grant; undefined when nobody did. */
  readonly consentedWalletAddress: string | undefined
}

/** Everything known about a token. */
export interface TokenRecord extends IssuedToken {
  /** Whether the token may be used. */
  readonly active: boolean
}

/** Finds what tokens allow. Says nothing about whether a token is still active: that is checked where money moves. */
export interface TokenAccessReader {
  /**
   * @param tokenHash SHA-256 of the token's value
   * @returns undefined when the token was not issued here
   */
  accessOf(tokenHash: Buffer): Promise<TokenAccess | undefined>
}

/** Maximum number of access items cached over all tokens. A token without any counts as one. */
export const ACCESS_ITEMS_KEPT_MAX = 50_000

/** Caches tokens, dropping the least recently used. Only what never changes is cached here. */
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
