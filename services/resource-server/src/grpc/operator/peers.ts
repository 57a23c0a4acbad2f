import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import {
  cutPage,
  readPageSize,
  readPageToken,
  readTextToken,
  writePageToken,
  writeTextToken
} from '@open-payments-server/service-kit/grpc'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { readPositiveCallValue } from '../../domain/call-fields.js'
import { invalidCallField } from '../../domain/call-refused.js'
import type { Peer, PeerToken, SettlementDirection } from '../../domain/peer.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { PeerDependencies } from '../../features/operate-peers/dependencies.js'
import {
  createPeer,
  getPeer,
  listPeers,
  rotatePeerToken,
  updatePeer
} from '../../features/operate-peers/peers.js'
import {
  countUnknownPackets,
  decidePacket,
  listUnknownPackets
} from '../../features/operate-peers/unknown-packets.js'
import { settlePeer } from '../../features/operate-peers/settle.js'
import { listPeerEntries, readPeerStatement } from '../../features/operate-peers/statement.js'
import type { PeerEntry, PeerWithTokens } from '../../modules/peers/index.js'
import { required } from './answer.js'
import { namesOf } from './messages.js'

/** Characters that tell the hashes of tokens apart. */
const HASH_PREFIX_LENGTH = 8

/** `PeerService.CreatePeer`. */
export function createPeerRpc(
  dependencies: PeerDependencies
): UnaryHandler<wallet.CreatePeerRequest, wallet.CreatePeerResponse> {
  return async (request) => {
    const order = { ...request, asset: required(request.asset, 'asset') }
    return { peer: toPeerMessage(await createPeer(order, dependencies)) }
  }
}

/** `PeerService.GetPeer`. */
export function getPeerRpc(
  dependencies: PeerDependencies
): UnaryHandler<wallet.GetPeerRequest, wallet.GetPeerResponse> {
  return async ({ name }) => ({ peer: toPeerMessage(await getPeer(name, dependencies)) })
}

/** `PeerService.ListPeers`. */
export function listPeersRpc(
  dependencies: PeerDependencies
): UnaryHandler<wallet.ListPeersRequest, wallet.ListPeersResponse> {
  return async ({ pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = readTextToken(pageToken)
    const found = await listPeers({ after, limit: pageSize + 1 }, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, ({ peer }) => writeTextToken(peer.name))
    return { peers: items.map(toPeerMessage), nextPageToken }
  }
}

/** `PeerService.UpdatePeer`. */
export function updatePeerRpc(
  dependencies: PeerDependencies & Acting
): UnaryHandler<wallet.UpdatePeerRequest, wallet.UpdatePeerResponse> {
  return async ({ routes, ...request }) => ({
    peer: toPeerMessage(await updatePeer({ ...request, routes: routes?.addresses }, dependencies))
  })
}

/** `PeerService.RotatePeerToken`. */
export function rotatePeerTokenRpc(
  dependencies: PeerDependencies
): UnaryHandler<wallet.RotatePeerTokenRequest, wallet.RotatePeerTokenResponse> {
  return async (request) => ({ peer: toPeerMessage(await rotatePeerToken(request, dependencies)) })
}

/** `PeerService.SettlePeer`. */
export function settlePeerRpc(
  dependencies: PeerDependencies & Acting
): UnaryHandler<wallet.SettlePeerRequest, wallet.SettlePeerResponse> {
  return async ({ key, anotherWithReference, ...request }, { clientNames }) => {
    const direction = readDirection(request.direction)
    const by = namesOf(clientNames)
    const order = { ...request, direction, idempotencyKey: key, isAnother: anotherWithReference === true, by }
    return { peer: toPeerMessage(await settlePeer(order, dependencies)) }
  }
}

/** `PeerService.GetPeerStatement`. */
export function getPeerStatementRpc(
  dependencies: PeerDependencies
): UnaryHandler<wallet.GetPeerStatementRequest, wallet.GetPeerStatementResponse> {
  return async ({ name, date }) => {
    const { peer, balances, isComplete } = await readPeerStatement({ name, date }, dependencies)
    return {
      peer: toPeerMessage(peer),
      date,
      openingReceivableValue: balances.openingReceivableValue.toString(),
      closingReceivableValue: balances.closingReceivableValue.toString(),
      openingPayableValue: balances.openingPayableValue.toString(),
      closingPayableValue: balances.closingPayableValue.toString(),
      incomplete: !isComplete
    }
  }
}

/** `PeerService.ListPeerEntries`. */
export function listPeerEntriesRpc(
  dependencies: PeerDependencies & { readonly urls: ResourceUrls }
): UnaryHandler<wallet.ListPeerEntriesRequest, wallet.ListPeerEntriesResponse> {
  return async ({ name, date, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = readPageToken(pageToken)
    const order = { name, date, after, limit: pageSize + 1 }
    const { entries, isComplete } = await listPeerEntries(order, dependencies)
    const { items, nextPageToken } = cutPage(entries, pageSize, writePageToken)
    return {
      entries: items.map((entry) => toEntryMessage(entry, dependencies.urls)),
      nextPageToken,
      incomplete: !isComplete
    }
  }
}

/** `PeerService.ListUnknownPackets`. */
export function listUnknownPacketsRpc(
  dependencies: PeerDependencies & { readonly urls: ResourceUrls }
): UnaryHandler<wallet.ListUnknownPacketsRequest, wallet.ListUnknownPacketsResponse> {
  return async ({ name, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = readPageToken(pageToken)
    const found = await listUnknownPackets({ name, after, limit: pageSize + 1 }, dependencies)
    const { items, nextPageToken } = cutPage(found, pageSize, writePageToken)
    const packets = items.map(({ condition, paymentId, sendValue, createdAtMs, expiresAtMs, isStandIn }) => ({
      condition: condition.toString('base64url'),
      value: sendValue.toString(),
      payment: dependencies.urls.of('outgoing-payments', paymentId),
      sendTime: new Date(createdAtMs),
      expireTime: new Date(expiresAtMs),
      standsForLost: isStandIn
    }))
    return { packets, nextPageToken }
  }
}

/** `PeerService.CountUnknownPackets`. */
export function countUnknownPacketsRpc(
  dependencies: PeerDependencies
): UnaryHandler<wallet.CountUnknownPacketsRequest, wallet.CountUnknownPacketsResponse> {
  return async () => ({ count: await countUnknownPackets(dependencies) })
}

/** `PeerService.DecidePacket`. */
export function decidePacketRpc(
  dependencies: PeerDependencies
): UnaryHandler<wallet.DecidePacketRequest, wallet.DecidePacketResponse> {
  return async ({ arrivedValue: value, ...request }, { clientNames }) => {
    const arrivedValue = value === '' ? undefined : readPositiveCallValue(value, 'arrived_value')
    await decidePacket({ ...request, arrivedValue, by: namesOf(clientNames) }, dependencies)
    return {}
  }
}

function readDirection(direction: wallet.SettlementDirection): SettlementDirection {
  switch (direction) {
    case wallet.SettlementDirection.SETTLEMENT_DIRECTION_RECEIVED:
      return 'received'
    case wallet.SettlementDirection.SETTLEMENT_DIRECTION_SENT:
      return 'sent'
    case wallet.SettlementDirection.SETTLEMENT_DIRECTION_UNSPECIFIED:
    case wallet.SettlementDirection.UNRECOGNIZED:
      throw invalidCallField('direction', 'must be received or sent')
  }
}

/** A peer on the wire, without secrets. */
export function toPeerMessage({ peer, tokens }: PeerWithTokens): wallet.Peer {
  const limit = (value: Peer['receivableLimitValue']): string => value?.toString() ?? ''
  return {
    id: peer.id,
    name: peer.name,
    asset: peer.asset,
    ilpAddress: peer.ilpAddress,
    routes: [...peer.routes],
    endpoint: peer.endpoint,
    receivableLimitValue: limit(peer.receivableLimitValue),
    payableLimitValue: limit(peer.payableLimitValue),
    packetLimitValue: limit(peer.packetLimitValue),
    lowAlertValue: limit(peer.lowAlertValue),
    highAlertValue: limit(peer.highAlertValue),
    receivableValue: peer.receivableValue.toString(),
    payableValue: peer.payableValue.toString(),
    incomingTokens: tokens.map(toTokenMessage),
    createTime: new Date(peer.createdAtMs)
  }
}

function toTokenMessage({ hash, createdAtMs, expiresAtMs }: PeerToken): wallet.PeerToken {
  return {
    hashPrefix: hash.toString('hex').slice(0, HASH_PREFIX_LENGTH),
    createTime: new Date(createdAtMs),
    expireTime: expiresAtMs === undefined ? undefined : new Date(expiresAtMs)
  }
}

const ENTRY_KINDS = {
  received: wallet.PeerEntryKind.PEER_ENTRY_KIND_RECEIVED,
  sent: wallet.PeerEntryKind.PEER_ENTRY_KIND_SENT,
  settlement_received: wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_RECEIVED,
  settlement_sent: wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_SENT
} as const satisfies Readonly<Record<PeerEntry['kind'], wallet.PeerEntryKind>>

function toEntryMessage(entry: PeerEntry, urls: ResourceUrls): wallet.PeerEntry {
  const { kind, identifier, value, createdAtMs, paymentId, fulfillment } = entry
  const collection = kind === 'sent' ? 'outgoing-payments' : 'incoming-payments'
  return {
    kind: ENTRY_KINDS[kind],
    identifier,
    value: value.toString(),
    bookingTime: new Date(createdAtMs),
    payment: paymentId === undefined ? '' : urls.of(collection, paymentId),
    fulfillment
  }
}
