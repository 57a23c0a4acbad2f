import type { ArrivedPacket, CreditResult } from '@open-payments-server/interledger'
import { receivableLeft } from '../../domain/peer.js'
import { roomOf } from '../../domain/receiver.js'
import type { LockedReceiver } from '../../modules/incoming-payments/index.js'
import type { CreditedPacket, KnownPacket } from '../../modules/interledger/index.js'
import {
  accountsIn,
  type AccountTotals,
  ChangedTotals,
  type PostedTransfer,
  type ProviderAccounts
} from '../../modules/ledger/index.js'
import type { LowLiquidity, PeerBounds } from '../../modules/peers/index.js'
import type { PeerArrival } from './arrival.js'

/** How long the answer to a packet may take, in milliseconds: a peer that gets it after the packet's expiry has paid nobody, and is not paid. */
const ANSWER_MS = 500

/** A packet of a peer that asks for a credit. */
export type PeerPacket = ArrivedPacket<PeerArrival>

/** What became of a packet: nothing if its peer may no longer present its token. */
export type PacketResult = CreditResult | { readonly outcome: 'token-ended' }

/** A locked incoming payment, with the id of its asset. */
export interface LockedReceiverInAsset extends LockedReceiver {
  readonly assetId: number
}

/** What packets meet: everything is locked until their transaction ends. */
export interface CreditState {
  /** Those of the packets that were credited already, by their conditions in hexadecimal. */
  readonly known: ReadonlyMap<string, KnownPacket>
  /** The incoming payments, by id; those that do not exist are missing. */
  readonly receivers: ReadonlyMap<string, LockedReceiverInAsset>
  /** Ids of those that belong to a frozen wallet address or account. */
  readonly frozen: ReadonlySet<string>
  /** The tokens of the packets that are accepted: SHA-256, in hexadecimal. */
  readonly tokens: ReadonlySet<string>
  /** What the peers owe, by their ids. */
  readonly bounds: ReadonlyMap<string, PeerBounds>
  /** The provider's accounts, by asset id. */
  readonly provider: ReadonlyMap<number, ProviderAccounts>
  readonly nowMs: number
}

/** What became of packets, and everything that changes by it. */
export interface CreditedBatch {
  /** Of each packet, in their order. */
  readonly results: readonly PacketResult[]
  readonly packets: readonly CreditedPacket[]
  readonly transfers: readonly PostedTransfer[]
  readonly totals: readonly AccountTotals[]
  /** What each incoming payment receives, by its id. */
  readonly received: ReadonlyMap<string, bigint>
  /** Peers that are left with less than their operators want to know of. */
  readonly low: readonly LowLiquidity[]
  /** Number of incoming payments that have received their full amount by it. */
  readonly filledCount: number
}

/**
 * Credits packets one after the other, as if each were alone: what one brings is no longer available as room for the next, nor as
 * what its peer may owe.
 *
 * @param newId creates ids (UUID)
 */
export function creditBatch(
  packets: readonly PeerPacket[],
  state: CreditState,
  newId: () => string
): CreditedBatch {
  const batch = new Batch(state, newId)
  const results = packets.map((packet) => batch.credit(packet))
  return { results, ...batch.changes() }
}

class Batch {
  readonly #state: CreditState
  readonly #newId: () => string
  readonly #credited = new Map<string, KnownPacket>()
  readonly #packets: CreditedPacket[] = []
  readonly #transfers: PostedTransfer[] = []
  readonly #totals = new ChangedTotals()
  readonly #received = new Map<string, bigint>()
  /** What each peer owes by the packets so far, by its id. */
  readonly #owed = new Map<string, bigint>()

  constructor(state: CreditState, newId: () => string) {
    this.#state = state
    this.#newId = newId
  }

  credit(packet: PeerPacket): PacketResult {
    if (!this.#state.tokens.has(packet.from.peer.tokenHash)) return { outcome: 'token-ended' }
    const name = packet.condition.toString('hex')
    const known = this.#state.known.get(name) ?? this.#credited.get(name)
    if (known !== undefined) return creditedBefore(packet, known)

    const receiver = this.#state.receivers.get(packet.paymentId)
    if (receiver === undefined) return { outcome: 'over' }
    const already = this.#received.get(receiver.id) ?? 0n
    const receivedValue = receiver.receivedValue + already
    const { completed, expired, room } = roomOf({ ...receiver, receivedValue }, this.#state.nowMs)
    if (completed || expired) return { outcome: 'over' }
    if (this.#state.frozen.has(receiver.id))
      return { outcome: 'refused', code: 'T00', message: 'cannot be credited now' }
    if (packet.expiresAtMs - ANSWER_MS < this.#state.nowMs) return { outcome: 'expired' }
    if (room < packet.leastValue) {
      return { outcome: 'no-room', receiveMaxValue: receivedValue + room, receivedValue }
    }
    if (this.#isAboveLimit(packet)) {
      return { outcome: 'refused', code: 'T04', message: 'more than the peer may owe' }
    }
    const value = room < packet.value ? room : packet.value
    this.#record(packet, receiver, value)
    return { outcome: 'credited', value }
  }

  #isAboveLimit({ from, packetValue }: PeerPacket): boolean {
    const bounds = this.#state.bounds.get(from.peer.id)
    if (bounds === undefined) throw new Error(`peer ${from.peer.id} has no account`)
    const left = receivableLeft(bounds)
    return left !== undefined && (this.#owed.get(from.peer.id) ?? 0n) + packetValue > left
  }

  #record(
    { from, condition, fulfillment, packetValue }: PeerPacket,
    receiver: LockedReceiverInAsset,
    value: bigint
  ): void {
    const { peer } = from
    const { assetId } = receiver
    const id = this.#newId()
    const incomingPaymentId = receiver.id
    this.#credited.set(condition.toString('hex'), { condition, peerId: peer.id, incomingPaymentId, value })
    this.#packets.push({ id, condition, fulfillment, peerId: peer.id, incomingPaymentId, packetValue, value })
    this.#received.set(receiver.id, (this.#received.get(receiver.id) ?? 0n) + value)
    this.#owed.set(peer.id, (this.#owed.get(peer.id) ?? 0n) + packetValue)
    this.#totals.change(peer.receivableAccountId, { debitsPosted: packetValue })
    this.#totals.change(receiver.accountId, { creditsPosted: value })
    const receipt = {
      id,
      kind: 'receipt',
      paymentId: id,
      debitAccountId: peer.receivableAccountId,
      assetId: peer.assetId,
      amount: packetValue
    } as const
    if (assetId === peer.assetId) {
      // The peer owes what its packet says, and in one asset the receiver gets all of it.
      if (value !== packetValue) throw new Error(`packet ${id} does not add up in its asset`)
      this.#transfers.push({ ...receipt, creditAccountId: receiver.accountId, incomingPaymentId })
      return
    }
    this.#transfers.push(
      {
        ...receipt,
        creditAccountId: accountsIn(peer.assetId, this.#state.provider).exchange,
        incomingPaymentId: undefined
      },
      {
        id: this.#newId(),
        kind: 'receipt_conversion',
        paymentId: id,
        debitAccountId: accountsIn(assetId, this.#state.provider).exchange,
        creditAccountId: receiver.accountId,
        assetId,
        amount: value,
        incomingPaymentId
      }
    )
  }

  changes(): Omit<CreditedBatch, 'results'> {
    const { receivers, nowMs } = this.#state
    const filled = [...this.#received].filter(([id, value]) => {
      const receiver = receivers.get(id)
      return (
        receiver !== undefined &&
        roomOf({ ...receiver, receivedValue: receiver.receivedValue + value }, nowMs).completed
      )
    })
    return {
      packets: this.#packets,
      transfers: this.#transfers,
      totals: this.#totals.changes(),
      received: this.#received,
      low: [...this.#owed].flatMap(([peerId, value]) => this.#lowAfter(peerId, value)),
      filledCount: filled.length
    }
  }

  /** Told once: when it falls below what operators want to know of. */
  #lowAfter(peerId: string, owed: bigint): LowLiquidity[] {
    const bounds = this.#state.bounds.get(peerId)
    const left = bounds && receivableLeft(bounds)
    if (bounds?.lowAlertValue === undefined || left === undefined) return []
    if (left < bounds.lowAlertValue || left - owed >= bounds.lowAlertValue) return []
    return [{ peerId, receivableValue: bounds.receivableValue + owed, leftValue: left - owed }]
  }
}

/**
 * A packet that comes again was credited to the same payment: its condition proves that. Only the peer that owes it gets the
 * fulfillment: another one could have it paid for what it never sent.
 */
function creditedBefore({ from, paymentId }: PeerPacket, known: KnownPacket): CreditResult {
  if (known.incomingPaymentId !== paymentId) throw new Error('a condition belongs to two payments')
  return known.peerId === from.peer.id
    ? { outcome: 'credited', value: known.value }
    : { outcome: 'refused', code: 'F99', message: 'another peer sent this packet' }
}
