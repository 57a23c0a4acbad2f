import type { Asset } from '@open-payments-server/value-types/amounts'

/** The bounds of a peer, in the smallest unit of its asset. */
export interface PeerLimits {
  /** Maximum that it may owe; undefined: any amount. */
  readonly receivableLimitValue: bigint | undefined
  /** Maximum that the provider may owe it; undefined: any amount. */
  readonly payableLimitValue: bigint | undefined
  /** The largest packet that is taken from it, above 0; undefined: any. */
  readonly packetLimitValue: bigint | undefined
  /** An event tells when less than this is left of what it may owe; undefined: never. */
  readonly lowAlertValue: bigint | undefined
  /** An event tells when the provider owes it more than this; undefined: never. */
  readonly highAlertValue: bigint | undefined
}

/** A peer: another provider, in one asset. Values are in the smallest unit of that asset. */
export interface Peer extends PeerLimits {
  /** Id (UUID). */
  readonly id: string
  readonly name: string
  readonly asset: Asset
  /** Packets to this address (IL-RFC 15), and to all below it, go there. */
  readonly ilpAddress: string
  /** Further addresses that are reached through it. */
  readonly routes: readonly string[]
  /** Where packets to it are posted. */
  readonly endpoint: string
  /** What it owes for what it sent, less what it settled: below 0 where it paid in advance. */
  readonly receivableValue: bigint
  /** What the provider owes it, less what it settled. */
  readonly payableValue: bigint
  readonly createdAtMs: number
}

/** A token that a peer presents. */
export interface PeerToken {
  /** SHA-256 of it. */
  readonly hash: Buffer
  readonly createdAtMs: number
  /** Until when it is accepted; undefined until another one replaces it. */
  readonly expiresAtMs: number | undefined
}

/** Who paid whom in a settlement: the peer paid (`received`), or the provider did (`sent`). */
export type SettlementDirection = 'received' | 'sent'

/**
 * What is left of what a peer may owe: what the provider owes it counts for it. Below 0 where the limit was lowered, and undefined
 * without a limit.
 */
export function receivableLeft({
  receivableLimitValue,
  receivableValue,
  payableValue
}: Pick<Peer, 'receivableLimitValue' | 'receivableValue' | 'payableValue'>): bigint | undefined {
  return receivableLimitValue === undefined
    ? undefined
    : receivableLimitValue - receivableValue + payableValue
}
