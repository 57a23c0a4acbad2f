import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { PeerLimits } from '../../domain/peer.js'
import { Prisma, type Queries } from '../database.js'
import { assetOfPeer, peerAccountsCreated } from '../ledger/index.js'

/** A peer to be created. */
export interface NewPeer extends PeerLimits {
  /** Id (UUID). */
  readonly id: string
  readonly name: string
  readonly asset: Asset
  readonly ilpAddress: string
  readonly routes: readonly string[]
  readonly endpoint: string
  /** Encrypted. */
  readonly sealedOutgoingToken: string
  /** SHA-256 of what it presents. */
  readonly incomingTokenHash: Buffer
  /** Ids (UUID) of its accounts. */
  readonly receivableAccountId: string
  readonly payableAccountId: string
  readonly createdAtMs: number
}

/** One statement for the peer, its accounts and its token: Prisma's models would send one for each. */
const CREATE = new Statement<{ readonly id: string }>(
  'create-peer',
  Prisma.sql`
  with ${assetOfPeer}, ${peerAccountsCreated}, created as (
    insert into peer (id, name, asset_id, ilp_address, routes, endpoint, outgoing_token, receivable_limit_value,
                      payable_limit_value, packet_limit_value, low_alert_value, high_alert_value, receivable_account_id,
                      payable_account_id, created_at)
    select ${placeholder('id')}::uuid, ${placeholder('name')}::text, asset_of_peer.id, ${placeholder('ilpAddress')}::text,
           ${placeholder('routes')}::text[], ${placeholder('endpoint')}::text, ${placeholder('sealedOutgoingToken')}::text,
           ${placeholder('receivableLimitValue')}::numeric, ${placeholder('payableLimitValue')}::numeric,
           ${placeholder('packetLimitValue')}::numeric, ${placeholder('lowAlertValue')}::numeric,
           ${placeholder('highAlertValue')}::numeric,
           ${placeholder('receivableAccountId')}::uuid, ${placeholder('payableAccountId')}::uuid,
           ${placeholder('now')}::timestamptz
      from asset_of_peer
    returning id, created_at
  ), token as (
    insert into peer_token (hash, peer_id, created_at)
    select ${placeholder('incomingTokenHash')}::bytea, id, created_at from created
  )
  select id from created`,
  { prepared: false }
)

/**
 * Creates a peer.
 *
 * @returns false when there is no such asset
 * @throws a unique violation when its name or its incoming token is taken
 */
export async function createPeer(
  on: Queries,
  { asset, createdAtMs, incomingTokenHash, ...peer }: NewPeer
): Promise<boolean> {
  const created = await CREATE.rows(on, {
    ...peer,
    ...asset,
    ...limitTexts(peer),
    routes: [...peer.routes],
    incomingTokenHash: bytesText(incomingTokenHash),
    now: instantText(createdAtMs)
  })
  return created.length === 1
}

/** The limits as parameters: numbers of arbitrary size are sent as text. */
export function limitTexts(limits: PeerLimits): Readonly<Record<keyof PeerLimits, string | null>> {
  const textOf = (value: bigint | undefined): string | null => value?.toString() ?? null
  return {
    receivableLimitValue: textOf(limits.receivableLimitValue),
    payableLimitValue: textOf(limits.payableLimitValue),
    packetLimitValue: textOf(limits.packetLimitValue),
    lowAlertValue: textOf(limits.lowAlertValue),
    highAlertValue: textOf(limits.highAlertValue)
  }
}
