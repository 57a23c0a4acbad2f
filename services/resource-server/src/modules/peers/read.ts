import { placeholder, Statement } from '@open-payments-server/database'
import type { Peer, PeerToken } from '../../domain/peer.js'
import { Prisma, type Queries } from '../database.js'
import { PEER_COLUMNS, PEER_JOINS, type PeerRow, readPeerRow } from './row.js'

/** A peer with the tokens that it may present, the newest first. */
export interface PeerWithTokens {
  readonly peer: Peer
  readonly tokens: readonly PeerToken[]
}

const BY_NAME = new Statement<PeerRow>(
  'find-peer',
  Prisma.sql`select ${PEER_COLUMNS} from peer p ${PEER_JOINS} where p.name = ${placeholder('name')}::text`,
  { prepared: false }
)

/** Finds a peer by its name. */
export async function findPeer(on: Queries, name: string): Promise<Peer | undefined> {
  const [row] = await BY_NAME.rows(on, { name })
  return row && readPeerRow(row)
}

/** Reads the tokens of peers that are still accepted, the newest first. */
export async function withTokens(
  on: Queries,
  peers: readonly Peer[],
  nowMs: number
): Promise<readonly PeerWithTokens[]> {
  const now = new Date(nowMs)
  const tokens = await on.peerToken.findMany({
    where: {
      peerId: { in: peers.map(({ id }) => id) },
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }]
    },
    orderBy: [{ createdAt: 'desc' }, { hash: 'asc' }]
  })
  const byPeer = new Map<string, PeerToken[]>(peers.map(({ id }) => [id, []]))
  for (const { peerId, hash, createdAt, expiresAt } of tokens) {
    byPeer.get(peerId)?.push({
      hash: Buffer.from(hash),
      createdAtMs: createdAt.getTime(),
      expiresAtMs: expiresAt?.getTime()
    })
  }
  return peers.map((peer) => ({ peer, tokens: byPeer.get(peer.id) ?? [] }))
}

const LIST = new Statement<PeerRow>(
  'list-peers',
  Prisma.sql`
  select ${PEER_COLUMNS} from peer p ${PEER_JOINS}
   where p.name > ${placeholder('after')}::text order by p.name limit ${placeholder('limit')}::integer`,
  { prepared: false }
)

/**
 * Lists peers, by name.
 *
 * @param page.after only those with names after this one; all names come after the empty one
 */
export async function listPeers(
  on: Queries,
  page: { readonly after: string; readonly limit: number }
): Promise<readonly Peer[]> {
  return (await LIST.rows(on, { ...page })).map(readPeerRow)
}

const BY_ID = new Statement<PeerRow>(
  'get-told-peers',
  Prisma.sql`select ${PEER_COLUMNS} from peer p ${PEER_JOINS} where p.id = any(${placeholder('ids')}::uuid[])`
)

/** Finds peers by their ids (UUID), in no order. */
export async function findPeersById(on: Queries, ids: readonly string[]): Promise<readonly Peer[]> {
  return (await BY_ID.rows(on, { ids: [...ids] })).map(readPeerRow)
}
