import { intervalBounds, intervalIndexAt } from '@open-payments-server/value-types/intervals'
import type { Limits } from './access.js'
import type { CountedAmounts } from './remaining.js'
import type { GrantedAccessItem } from './token-record.js'

/** A person, as an issuer of ID tokens knows them. */
export interface Holder {
  /** `iss` of their ID token. */
  readonly issuer: string
  /** `sub` of their ID token. */
  readonly sub: string
}

/** Who acts on grants of wallet addresses that they hold. */
export interface ActingHolder extends Holder {
  /** URLs of the wallet addresses that they hold, each once. */
  readonly walletAddresses: readonly string[]
}

/** What an account holder did with a grant. */
export type GrantActKind = 'paused' | 'resumed' | 'lowered' | 'stopped'

/** What an account holder sees of a grant: `ended` however it ended, and only when none of its tokens is active any more. */
export type AllowedState = 'in-force' | 'paused' | 'ended'

/** An access item, and what is spent under it. */
export interface AllowedAccessItem {
  /** As it is in force. */
  readonly item: GrantedAccessItem
  /** As they were consented to. */
  readonly consentedLimits: Limits | undefined
  /** In the interval that runs; undefined before its first payment. */
  readonly spent: Omit<CountedAmounts, 'accessItemId'> | undefined
  /** The interval that runs; undefined without one. */
  readonly interval: { readonly startMs: number; readonly endMs: number } | undefined
}

/** A grant that an account holder consented to. */
export interface AllowedGrant {
  /** Id of the grant (UUID). */
  readonly id: string
  /** URL of the wallet address whose account holder consented. */
  readonly walletAddress: string
  /** Whether another person than whoever asks proved the consent, as holder of the wallet address before them; false for an operator. */
  readonly isConsentOfAnother: boolean
  readonly clientWalletAddress: string | undefined
  readonly clientJwkThumbprint: string | undefined
  readonly clientName: string | undefined
  /** Whether it was revoked or declined, by whomever: nothing is left to be stopped. */
  readonly isRevoked: boolean
  readonly state: AllowedState
  readonly access: readonly AllowedAccessItem[]
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** When room was last reserved under it; undefined if never. */
  readonly lastUsedAtMs: number | undefined
  /** From when on no token of it is active: as an account holder set it, or when nothing is left of it. */
  readonly endsAtMs: number | undefined
  /** The same as it was consented to. */
  readonly consentedEndsAtMs: number | undefined
  /** When it ends, or ended; undefined for one that goes on until it is stopped. */
  readonly endedAtMs: number | undefined
  /** From when on nothing can be paid, because the last interval is over; undefined when payments go on until it ends. */
  readonly payableUntilMs: number | undefined
  readonly pausedAtMs: number | undefined
}

/** What was spent of an access item in one interval. */
export interface CountedWindow extends CountedAmounts {
  readonly intervalIndex: bigint
}

/**
 * An access item as its account holder sees it.
 *
 * @param consentedLimits as they were consented to
 * @param windows its last ones at least
 */
export function allowedItem(
  item: GrantedAccessItem,
  consentedLimits: Limits | undefined,
  windows: readonly CountedWindow[],
  nowMs: number
): AllowedAccessItem {
  const { interval } = item
  const index = interval === undefined ? 0n : intervalIndexAt(interval, nowMs)
  const spent = windows.find(
    ({ accessItemId, intervalIndex }) => accessItemId === item.id && intervalIndex === index
  )
  return {
    item,
    consentedLimits,
    spent,
    interval: interval === undefined || index === undefined ? undefined : intervalBounds(interval, index)
  }
}
