import { type Amount, type Asset, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { amountMissing } from './errors.js'

/** An incoming payment, as its payer sees it. */
export interface Receiver {
  /** URL of the incoming payment. */
  readonly url: string
  /** Id (UUID) of the incoming payment, which is hosted here. */
  readonly incomingPaymentId: string
  readonly asset: Asset
  /** Id of the asset. */
  readonly assetId: number
  /** Maximum that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  /** In milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
}

/**
 * What a receiver still lacks, for a payment whose amount nobody names.
 *
 * @throws Refusal `not-payable` for a receiver without an `incomingAmount`, or one that takes nothing more
 */
export function missingAmount(receiver: ReceivingState & Pick<Receiver, 'asset'>, nowMs: number): Amount {
  if (receiver.incomingValue === undefined) throw amountMissing()
  return { value: remainingRoom(receiver, nowMs), asset: receiver.asset }
}

/** Finds incoming payments to pay, by their URL: those hosted here. */
export interface ReceiverDirectory {
  /** The incoming payment with a URL; undefined when there is none that can be reached from here. */
  find(url: string): Promise<Receiver | undefined>
}

/** Caches what never changes of incoming payments. What they have received counts as nothing. */
export interface RememberedReceivers extends ReceiverDirectory {
  /** Drops this one from the cache: it turned out not to be payable. */
  forget(url: string): void
}

/** The fields that decide how much an incoming payment can still take. */
export type ReceivingState = Pick<Receiver, 'incomingValue' | 'receivedValue' | 'completed' | 'expiresAtMs'>

/** What an incoming payment can still take. */
export interface ReceiverRoom {
  /** Whether it is completed: everything was received, or nothing more is expected. */
  readonly completed: boolean
  /** Whether it has expired. */
  readonly expired: boolean
  /** Up to its maximum, in units of its asset: never more than the largest amount. */
  readonly room: bigint
}

/**
 * What an incoming payment can still take (interface 3). Where a statement must decide it, `canTake` of the incoming
 * payments' module has the same rule.
 */
export function roomOf(receiver: ReceivingState, nowMs: number): ReceiverRoom {
  const room = (receiver.incomingValue ?? UINT64_MAX) - receiver.receivedValue
  return {
    completed: receiver.completed || (receiver.incomingValue !== undefined && room <= 0n),
    expired: receiver.expiresAtMs <= nowMs,
    room
  }
}

/** How much a receiver can take now: `0n` when it can no longer receive. */
export function remainingRoom(receiver: ReceivingState, nowMs: number): bigint {
  const { completed, expired, room } = roomOf(receiver, nowMs)
  return completed || expired ? 0n : room
}
