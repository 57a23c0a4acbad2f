import { type Asset, UINT64_MAX } from '@open-payments-server/amounts'

/** An incoming payment, as whoever pays it sees it. */
export interface Receiver {
  /** URL of the incoming payment. */
  readonly url: string
  /** Id (UUID) of the incoming payment; where it is hosted here. */
  readonly incomingPaymentId: string
  readonly asset: Asset
  /** Id of the asset. */
  readonly assetId: number
  /** Most that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  /** In milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
}

/** Finds incoming payments to pay, by their URL. Those hosted here first; others may follow. */
export interface ReceiverDirectory {
  /** The incoming payment of a URL; undefined when there is none, or none that can be reached from here. */
  find(url: string): Promise<Receiver | undefined>
}

/** Remembers of incoming payments what never changes. What they have received counts as nothing. */
export interface RememberedReceivers extends ReceiverDirectory {
  /** Looks this one up anew next time: it turned out to be unpayable. */
  forget(url: string): void
}

/**
 * How much a receiver can still take: never more than an amount can say. `0n` when it takes no further payment, because it
 * is full, completed or expired (interface 3).
 */
export function remainingRoom(receiver: Receiver, nowMs: number): bigint {
  if (receiver.completed || receiver.expiresAtMs <= nowMs) return 0n
  return (receiver.incomingValue ?? UINT64_MAX) - receiver.receivedValue
}
