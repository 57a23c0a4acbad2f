import type { RepeatingInterval } from '@open-payments-server/value-types/intervals'
import type { AccessItem } from './access.js'
import type { BoundClient } from './clients.js'

/** One right of a token. Only its amounts can change after it was granted: its account holder may lower them. */
export interface GrantedAccessItem extends AccessItem {
  /** Id of the item (UUID). */
  readonly id: string
  /** `limits.interval`, parsed. */
  readonly interval: RepeatingInterval | undefined
}

/** What a token allows. Changes only with its grant, and when nothing can be paid under it any more, whatever happens to the token. */
export interface TokenAccess {
  /** Id of the grant (UUID). */
  readonly grantId: string
  /** When the grant last changed before this was read, in milliseconds since 1970. */
  readonly grantUpdatedAtMs: number
  /** In the order in which they were requested. */
  readonly items: readonly GrantedAccessItem[]
}

/** A token from its issue on. Changes only with its grant, whatever happens to it. */
export interface IssuedToken {
  /** When it expires, or its grant ends before that. */
  readonly expiresAtMs: number
  /** The token holder, and the key the token is bound to. */
  readonly client: BoundClient
  readonly access: TokenAccess
  /** What it allows from an instant on, because nothing can be paid under its grant any more; undefined when that changes nothing. */
  readonly afterPayments: { readonly fromMs: number; readonly access: TokenAccess } | undefined
  /** URL of the wallet address whose account holder consented to the grant; undefined when nobody did. */
  readonly consentedWalletAddress: string | undefined
}

/** Everything known about a token at an instant. */
export interface TokenRecord extends Omit<IssuedToken, 'afterPayments'> {
  /** Until when that holds, in milliseconds since 1970: it expires, or allows less. */
  readonly holdsUntilMs: number
  /** Whether the token may be used. */
  readonly active: boolean
  /** Whether its client is frozen: then it may only be used to read. */
  readonly clientFrozen: boolean
  /** Whether its account holder paused the grant: then it may only be used to read. */
  readonly grantPaused: boolean
}

/** Finds what tokens allow. Says nothing about whether a token is still active: that is checked where money moves. */
export interface TokenAccessReader {
  /**
   * @param tokenHash SHA-256 of the token's value
   * @param sinceMs what was read before the grant changed at this instant is read anew; any will do unless given
   * @returns undefined when the token was not issued here
   */
  accessOf(tokenHash: Buffer, sinceMs?: number): Promise<TokenAccess | undefined>
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
