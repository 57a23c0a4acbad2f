import type { RepeatingInterval } from '@open-payments-server/value-types/intervals'
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
  /** Whether its client is frozen: then it may only be used to read. */
  readonly clientFrozen: boolean
}

/** Finds what tokens allow. Says nothing about whether a token is still active: that is checked where money moves. */
export interface TokenAccessReader {
  /**
   * @param tokenHash SHA-256 of the token's value
   * @returns undefined when the token was not issued here
   */
  accessOf(tokenHash: Buffer): Promise<TokenAccess | undefined>
}

/** A token as its token holder manages it. Never changes, whatever happens to the token. */
export interface ManagedToken {
  /** Its management id (UUID). */
  readonly id: string
  /** SHA-256 of its value. */
  readonly secretHash: Buffer
  /** The token holder: only that client may rotate and revoke it. */
  readonly holder: BoundClient
}
