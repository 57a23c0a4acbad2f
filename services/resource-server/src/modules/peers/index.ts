/**
 * Peers: other providers that payments come from over Interledger, what they present, how much they may owe, and what was settled
 * with them.
 */
export { isOwedAnything, peerBounds, type PeerBounds, type PeerBoundsRow, readPeerBounds } from './bounds.js'
export { type PeerChange, rotatePeerToken, type TokenRotation, updatePeer } from './change.js'
export { closePeerDays } from './close-days.js'
export { createPeer, type NewPeer } from './create.js'
export {
  type AcceptedTokenRow,
  acceptedTokens,
  createPeerDirectory,
  type PacketPeer,
  type PeerDirectory,
  PEERS_REMEMBERED_MS
} from './directory.js'
export {
  highLiquidityEvents,
  lowLiquidities,
  type LowLiquidity,
  lowLiquidityEvents,
  readToldPeers,
  type ToldPeer
} from './events.js'
export { findPeer, listPeers, type PeerWithTokens, withTokens } from './read.js'
export {
  findPeersTowards,
  findSendingPeers,
  leadsElsewhere,
  type PayableBound,
  readPayableBounds,
  type SendingPeer
} from './routes.js'
export {
  findFirstSettlement,
  findSettlementRequest,
  type NewSettlement,
  type SettlementIdentity,
  settlePeer
} from './settle.js'
export {
  findPeerBalances,
  listPeerEntries,
  type PeerBalances,
  type PeerEntry,
  type StatementDay
} from './statement.js'
