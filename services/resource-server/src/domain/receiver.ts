import { type Asset, UINT64_MAX } from '@open-payments-server/value-types/amounts'

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

/** What decides how much an incoming payment can still take. */
export type ReceivingState = Pick<Receiver, 'incomingValue' | 'receivedValue' | 'completed' | 'expiresAtMs'>

/** What an incoming payment can still take. */
export interface ReceiverRoom {
  /** Whether its end was reached: everything received, or nothing more expected. */
  readonly completed: boolean
  /** Whether its time is over. */
  readonly expired: boolean
  /** Up to its maximum, in units of its asset: never more than an amount can say. */
  readonly room: bigint
}

/**
 * What an incoming payment can still take (interface 3). Where a statement must decide it, `canTake` of the incoming payments'
 * module says the same.
 */
export function roomOf(receiver: ReceivingState, nowMs: number): ReceiverRoom {
  const room = (receiver.incomingValue ?? UINT64_MAX) - receiver.receivedValue
  return {
    completed: receiver.completed || (receiver.incomingValue !== undefined && room <= 0n),
    expired: receiver.expiresAtMs <= nowMs,
    room
  }
}

/** How much a receiver takes now: `0n` when it takes no further payment. */
export function remainingRoom(receiver: ReceivingState, nowMs: number): bigint {
  const { completed, expired, room } = roomOf(receiver, nowMs)
  return completed || expired ? 0n : room
}
