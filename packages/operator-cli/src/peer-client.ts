import {
  callUnary,
  type ChannelOptions,
  createClient,
  type RequestOf,
  type ResponseOf,
  type UnaryCallOptions,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { type Amount, type Asset, parseAmountValue } from '@open-payments-server/value-types/amounts'
import { assetOf, type Listed, listPages, present, readSignedTotal, readTotal, textOf } from './messages.js'
import type { PeerEntryKind, PeerStatement, PeerStatementEntry } from './peer-statement.js'

const REPEATABLE: UnaryCallOptions = { idempotent: true }
const ONCE: UnaryCallOptions = { idempotent: false }

const DIRECTIONS = {
  received: wallet.SettlementDirection.SETTLEMENT_DIRECTION_RECEIVED,
  sent: wallet.SettlementDirection.SETTLEMENT_DIRECTION_SENT
} as const

/** Who paid whom in a settlement: `received` when the peer paid this provider. */
export type SettlementDirection = keyof typeof DIRECTIONS

/** A token that a peer presents, of which only the hash is known. */
export interface OperatorPeerToken {
  /** The first 8 characters of its SHA-256, in hexadecimal: tells tokens apart. */
  readonly hashPrefix: string
  readonly createdAt: Date | undefined
  /** Until when it is accepted; undefined until another one replaces it. */
  readonly expiresAt: Date | undefined
}

/** A peer: another provider, in one asset. */
export interface OperatorPeer {
  readonly id: string
  readonly name: string
  readonly asset: Asset
  /** Packets to this address, and to all below it, go there. */
  readonly ilpAddress: string
  /** Further addresses that are reached through it. */
  readonly routes: readonly string[]
  /** URL that packets to it are posted to. */
  readonly endpoint: string
  /** The most that it may owe; undefined for any amount. */
  readonly receivableLimit: Amount | undefined
  /** The most that this provider may owe it; undefined for any amount. */
  readonly payableLimit: Amount | undefined
  /** The largest packet that is taken from it; undefined for any. */
  readonly packetLimit: Amount | undefined
  /** An event tells when less than this is left of the most that it may owe; undefined for never. */
  readonly lowAlert: Amount | undefined
  /** An event tells when more than this is owed to it; undefined for never. */
  readonly highAlert: Amount | undefined
  /** What it owes, less what it settled. Below 0 where it paid in advance. */
  readonly receivable: Amount
  /** What this provider owes it, less what was settled. */
  readonly payable: Amount
  /** The newest first. */
  readonly incomingTokens: readonly OperatorPeerToken[]
  readonly createdAt: Date | undefined
}

/** What bounds a peer, in the smallest unit of its asset. What is undefined is not bounded. */
export interface PeerBounds {
  /** The most that it may owe. */
  readonly receivableLimitValue: bigint | undefined
  /** The most that this provider may owe it. */
  readonly payableLimitValue: bigint | undefined
  /** The largest packet that is taken from it. */
  readonly packetLimitValue: bigint | undefined
  /** An event tells when less than this is left of the most that it may owe. */
  readonly lowAlertValue: bigint | undefined
  /** An event tells when more than this is owed to it. */
  readonly highAlertValue: bigint | undefined
}

/** A peer to be created. */
export interface NewPeer extends PeerBounds {
  readonly name: string
  readonly asset: Asset
  readonly ilpAddress: string
  readonly routes: readonly string[]
  readonly endpoint: string
  /** Token that this provider presents at the endpoint. */
  readonly outgoingToken: string
  /** Token that the peer presents here. */
  readonly incomingToken: string
}

/** What a bound becomes: a value, or no bound. */
export type NewBound = bigint | 'none'

/** What changes of a peer. What is undefined stays as it is. */
export interface PeerChange extends Readonly<Record<keyof PeerBounds, NewBound | undefined>> {
  readonly ilpAddress: string | undefined
  /** All of them, in place of those before. */
  readonly routes: readonly string[] | undefined
  readonly endpoint: string | undefined
  readonly outgoingToken: string | undefined
}

/** A settlement outside, as through banks. */
export interface Settlement {
  readonly direction: SettlementDirection
  /** In the smallest unit of the peer's asset. */
  readonly value: bigint
  /** What the bank calls it. */
  readonly reference: string
  /** The same key with the same content has effect only once. */
  readonly key: string
  /** Whether it is another one, where a settlement in this direction has the reference already. */
  readonly isAnother: boolean
}

/** A packet to a peer of which it is not known whether it arrived. */
export interface UnknownPacket {
  /** Its execution condition in base64url, which both sides know. */
  readonly condition: string
  /** In the smallest unit of the peer's asset. */
  readonly value: bigint
  /** URL of the outgoing payment that it is part of. */
  readonly payment: string
  readonly sentAt: Date
  readonly expiresAt: Date
  /** Whether it stands for whatever was sent before the database lost commits: itself, or others in its place. */
  readonly standsForLost: boolean
}

/** Operates the peers of the resource server. Every method throws as those of `OperatorClient`. */
export class PeerClient {
  readonly #client: wallet.PeerServiceClient
  readonly #naming: (error: unknown) => never

  /** @param naming names the service in the error of a call that it could not be asked */
  constructor(options: ChannelOptions, naming: (error: unknown) => never) {
    this.#client = createClient(wallet.PeerServiceClient, options)
    this.#naming = naming
  }

  /** Closes the connection. */
  close(): void {
    this.#client.close()
  }

  /** Creates a peer, and gives it access. */
  async create({ routes, ...peer }: NewPeer): Promise<OperatorPeer> {
    const request = {
      ...peer,
      routes: [...routes],
      receivableLimitValue: boundText(peer.receivableLimitValue),
      payableLimitValue: boundText(peer.payableLimitValue),
      packetLimitValue: boundText(peer.packetLimitValue),
      lowAlertValue: boundText(peer.lowAlertValue),
      highAlertValue: boundText(peer.highAlertValue)
    }
    return peerOf(await this.#call('createPeer', request, ONCE))
  }

  /** Reads a peer. */
  async show(name: string): Promise<OperatorPeer> {
    return peerOf(await this.#call('getPeer', { name }, REPEATABLE))
  }

  /** Lists peers by name. */
  list(limit: number): Promise<Listed<OperatorPeer>> {
    return listPages(limit, async (page) => {
      const { peers, nextPageToken } = await this.#call('listPeers', page, REPEATABLE)
      return { items: peers.map((peer) => peerOf({ peer })), nextPageToken }
    })
  }

  /** Changes a peer. Idempotent. */
  async update(name: string, { routes, ...change }: PeerChange): Promise<OperatorPeer> {
    const request = {
      ...change,
      name,
      routes: routes && { addresses: [...routes] },
      receivableLimitValue: newBoundText(change.receivableLimitValue),
      payableLimitValue: newBoundText(change.payableLimitValue),
      packetLimitValue: newBoundText(change.packetLimitValue),
      lowAlertValue: newBoundText(change.lowAlertValue),
      highAlertValue: newBoundText(change.highAlertValue)
    }
    return peerOf(await this.#call('updatePeer', request, REPEATABLE))
  }

  /**
   * Adds an incoming token. Idempotent.
   *
   * @param overlapSeconds how long those before it are still accepted
   */
  async rotateToken(name: string, incomingToken: string, overlapSeconds: number): Promise<OperatorPeer> {
    const request = { name, incomingToken, overlapSeconds }
    return peerOf(await this.#call('rotatePeerToken', request, REPEATABLE))
  }

  /** Records a settlement. Idempotent by key. */
  async settle(
    name: string,
    { direction, value, reference, key, isAnother }: Settlement
  ): Promise<OperatorPeer> {
    const request = {
      ...{ name, direction: DIRECTIONS[direction], value: value.toString(), reference, key },
      anotherWithReference: isAnother
    }
    return peerOf(await this.#call('settlePeer', request, REPEATABLE))
  }

  /**
   * Reads the whole statement of a day, or what there is of it until now.
   *
   * @param date day in UTC, such as `2026-11-24`
   */
  async statement(name: string, date: string): Promise<PeerStatement> {
    const read = await this.#call('getPeerStatement', { name, date }, REPEATABLE)
    const peer = present(read.peer, 'peer')
    return {
      peer: peer.name,
      asset: assetOf(peer.asset),
      ilpAddress: textOf(peer.ilpAddress),
      date: read.date,
      isComplete: !read.incomplete,
      opening: {
        receivable: readSignedTotal(read.openingReceivableValue),
        payable: readSignedTotal(read.openingPayableValue)
      },
      closing: {
        receivable: readSignedTotal(read.closingReceivableValue),
        payable: readSignedTotal(read.closingPayableValue)
      },
      entries: (await this.entries(name, date)).entries
    }
  }

  /**
   * Reads all entries of a day, or what there is of them until now, in the order of booking.
   *
   * @param date day in UTC, such as `2026-11-24`
   */
  async entries(name: string, date: string): Promise<Pick<PeerStatement, 'entries' | 'isComplete'>> {
    let isComplete = true
    const { items } = await listPages(Infinity, async (page) => {
      const read = await this.#call('listPeerEntries', { name, date, ...page }, REPEATABLE)
      // A day may end between two pages.
      isComplete &&= !read.incomplete
      return { items: read.entries.map(entryOf), nextPageToken: read.nextPageToken }
    })
    return { entries: items, isComplete }
  }

  /** Lists packets to a peer of which it is not known whether they arrived, the oldest first. */
  unknownPackets(name: string, limit: number): Promise<Listed<UnknownPacket>> {
    return listPages(limit, async (page) => {
      const read = await this.#call('listUnknownPackets', { name, ...page }, REPEATABLE)
      return { items: read.packets.map(unknownPacketOf), nextPageToken: read.nextPageToken }
    })
  }

  /** Counts such packets to all peers, up to 1000. */
  async countUnknownPackets(): Promise<number> {
    return (await this.#call('countUnknownPackets', {}, REPEATABLE)).count
  }

  /**
   * Decides whether such a packet arrived.
   *
   * @param decision.arrivedValue how much of one that stands for what was lost, in the smallest unit of the peer's asset; undefined for all of it
   * @param decision.fulfillment the proof that it arrived, in base64url; undefined without one
   */
  async decidePacket(
    name: string,
    condition: string,
    {
      arrivedValue,
      ...decision
    }: {
      readonly arrived: boolean
      readonly arrivedValue: bigint | undefined
      readonly fulfillment: string | undefined
    }
  ): Promise<void> {
    const value = arrivedValue?.toString() ?? ''
    await this.#call('decidePacket', { name, condition, ...decision, arrivedValue: value }, ONCE)
  }

  #call<Name extends UnaryMethodName<wallet.PeerServiceClient>>(
    method: Name,
    request: RequestOf<wallet.PeerServiceClient, Name>,
    options: UnaryCallOptions
  ): Promise<ResponseOf<wallet.PeerServiceClient, Name>> {
    return callUnary(this.#client, method, request, options).catch(this.#naming)
  }
}

/** Empty means no bound. */
function boundText(value: bigint | undefined): string {
  return value?.toString() ?? ''
}

/** Unset means that it stays as it is. */
function newBoundText(bound: NewBound | undefined): string | undefined {
  return bound === 'none' ? '' : bound?.toString()
}

function peerOf(answer: { readonly peer: wallet.Peer | undefined }): OperatorPeer {
  const peer = present(answer.peer, 'peer')
  const asset = assetOf(peer.asset)
  const boundOf = (text: string): Amount | undefined =>
    text === '' ? undefined : { value: readTotal(text), asset }
  return {
    id: peer.id,
    name: peer.name,
    asset,
    ilpAddress: peer.ilpAddress,
    routes: peer.routes,
    endpoint: peer.endpoint,
    receivableLimit: boundOf(peer.receivableLimitValue),
    payableLimit: boundOf(peer.payableLimitValue),
    packetLimit: boundOf(peer.packetLimitValue),
    lowAlert: boundOf(peer.lowAlertValue),
    highAlert: boundOf(peer.highAlertValue),
    receivable: { value: readSignedTotal(peer.receivableValue), asset },
    payable: { value: readSignedTotal(peer.payableValue), asset },
    incomingTokens: peer.incomingTokens.map(({ hashPrefix, createTime, expireTime }) => ({
      hashPrefix,
      createdAt: createTime,
      expiresAt: expireTime
    })),
    createdAt: peer.createTime
  }
}

function entryOf(entry: wallet.PeerEntry): PeerStatementEntry {
  return {
    kind: kindOf(entry.kind),
    identifier: entry.identifier,
    value: parseAmountValue(entry.value),
    bookedAt: present(entry.bookingTime, 'booking_time'),
    payment: textOf(entry.payment),
    fulfillment: entry.fulfillment
  }
}

function unknownPacketOf(packet: wallet.UnknownPacket): UnknownPacket {
  return {
    condition: packet.condition,
    value: parseAmountValue(packet.value),
    payment: packet.payment,
    sentAt: present(packet.sendTime, 'send_time'),
    expiresAt: present(packet.expireTime, 'expire_time'),
    standsForLost: packet.standsForLost
  }
}

/** A kind that is left out would make a statement that does not add up. */
function kindOf(kind: wallet.PeerEntryKind): PeerEntryKind {
  switch (kind) {
    case wallet.PeerEntryKind.PEER_ENTRY_KIND_RECEIVED:
      return 'received'
    case wallet.PeerEntryKind.PEER_ENTRY_KIND_SENT:
      return 'sent'
    case wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_RECEIVED:
      return 'settlement_received'
    case wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_SENT:
      return 'settlement_sent'
    default:
      throw new Error(`the service answered with an entry of the unknown kind ${String(kind)}`)
  }
}
