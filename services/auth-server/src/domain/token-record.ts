import type { RepeatingInterval } from '@open-payments-server/value-types/intervals'
import { LRUCache } from 'lru-cache'
import type { AccessItem } from './access.js'
import type { BoundClient } from './clients.js'

/** One right of a token. Never changes once it was granted. */
export interface GrantedAccessItem extends AccessItem {
  /** Id of the item (UUID). */
  readonly id: string
  /** `limits.interval`, parsed. */
  readonly interval: RepeatingInterval | undefined
}

/** What a token allows. Never changes, whatever becomes of the token. */
export interface TokenAccess {
  /** Id of the grant (UUID). */
  readonly grantId: string
  /** In the order in which they were asked for. */
  readonly items: readonly GrantedAccessItem[]
}

/** What a token is, from its issue on. Never changes, whatever becomes of the token. */
export interface IssuedToken {
  readonly expiresAt: Date
  /** Who holds the grant, and the key it is bound to. */
  readonly client: BoundClient
  readonly access: TokenAccess
  /** URL of the wallet address whose account holder agreed to the grant; undefined when nobody did. */
  readonly consentedWalletAddress: string | undefined
}

/** Everything that is known of a token. */
export interface TokenRecord extends IssuedToken {
  /** Whether the token may be used. */
  readonly active: boolean
}

/** Finds what tokens allow. Says nothing of whether a token is still alive: that is asked for where money moves. */
export interface TokenAccessReader {
  /**
   * @param tokenHash SHA-256 of the token's value
   * @returns undefined when the token was not issued here
   */
  accessOf(tokenHash: Buffer): Promise<TokenAccess | undefined>
}

/** Most access items kept in memory, over all tokens. A token without any counts as one. */
export const ACCESS_ITEMS_KEPT_MAX = 50_000

/** Keeps tokens, least recently used out first. Only what never changes is kept here. */
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
