import { createLookup, placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { Clock } from '@open-payments-server/value-types/clock'
import { LRUCache } from 'lru-cache'
import { Prisma, type Queries } from '../database.js'
import { assetById } from '../ledger/index.js'
import { readLimit } from './row.js'

/** How long what was found for a token is used, in milliseconds. Crediting looks at the token again. */
export const PEERS_REMEMBERED_MS = 5_000

/** Maximum number of tokens whose peers are cached. */
const REMEMBERED_MAX = 20_000

/** A peer as its packets need it. */
export interface PacketPeer {
  /** Id (UUID). */
  readonly id: string
  readonly asset: Asset
  readonly assetId: number
  /** Id (UUID) of the account that says what it owes. */
  readonly receivableAccountId: string
  /** The largest packet that is taken from it; undefined: any. */
  readonly packetLimitValue: bigint | undefined
  /** SHA-256 of the token that it presented, in hexadecimal. */
  readonly tokenHash: string
}

/** Finds peers by what they present. */
export interface PeerDirectory {
  /**
   * Finds the peer of a token.
   *
   * @param hash SHA-256 of the token
   * @returns undefined for a token of nobody, or one that is no longer accepted
   */
  find(hash: Buffer): Promise<PacketPeer | undefined>
  /** Forgets what was found for a token, because it is no longer accepted. */
  forget(tokenHash: string): void
}

interface TokenRow {
  /** Of the token, in hexadecimal. */
  readonly id: string
  readonly peer_id: string
  readonly asset_id: number
  readonly code: string
  readonly scale: number
  readonly receivable_account_id: string
  readonly packet_limit_value: string | null
  readonly expires_at: Date | null
}

const hashIsOneOf = (name: string): Prisma.Sql =>
  Prisma.sql`t.hash = any (array(select decode(hash, 'hex') from unnest(${placeholder(name)}::text[]) as hash))`

/** The columns of {@link acceptedTokens}. */
export interface AcceptedTokenRow {
  /** In hexadecimal. */
  readonly hash: string
}

/**
 * Fragment: selects those of the tokens with `tokenHashes` (SHA-256, in hexadecimal) that are accepted at `now` ({@link
 * AcceptedTokenRow}), both of which it takes: exact while the receivable accounts of their peers are locked, as whoever ends one locks
 * it, too.
 */
export const acceptedTokens = Prisma.sql`
  select encode(t.hash, 'hex') as hash from peer_token t
   where ${hashIsOneOf('tokenHashes')} and (t.expires_at is null or t.expires_at > ${placeholder('now')}::timestamptz)`

/** One statement for all that arrive together. */
const BY_TOKEN = new Statement<TokenRow>(
  'find-peers-by-token',
  Prisma.sql`
  select encode(t.hash, 'hex') as id, p.id as peer_id, p.asset_id, s.code, s.scale, p.receivable_account_id,
         p.packet_limit_value::text, t.expires_at
    from peer_token t
    join peer p on p.id = t.peer_id ${assetById(Prisma.sql`p.asset_id`, Prisma.sql`s`)}
   where ${hashIsOneOf('hashes')}`
)

/** Finds peers in the database, and uses what was found for a moment. */
export function createPeerDirectory({
  database,
  clock
}: {
  readonly database: Queries
  readonly clock: Clock
}): PeerDirectory {
  const lookUp = createLookup((hashes) => BY_TOKEN.rows(database, { hashes }))
  const remembered = new LRUCache<string, TokenRow>({ max: REMEMBERED_MAX, ttl: PEERS_REMEMBERED_MS })
  return {
    async find(hash) {
      const name = hash.toString('hex')
      const row = remembered.get(name) ?? (await lookUp(name))
      if (row === undefined) return undefined
      remembered.set(name, row, { noUpdateTTL: true })
      const isOver = row.expires_at !== null && row.expires_at.getTime() <= clock.now()
      return isOver ? undefined : toPeer(row)
    },
    forget(tokenHash) {
      remembered.delete(tokenHash)
    }
  }
}

function toPeer(row: TokenRow): PacketPeer {
  return {
    id: row.peer_id,
    asset: { code: row.code, scale: row.scale },
    assetId: row.asset_id,
    receivableAccountId: row.receivable_account_id,
    packetLimitValue: readLimit(row.packet_limit_value),
    tokenHash: row.id
  }
}
