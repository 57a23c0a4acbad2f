import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import type { PeerLimits } from '../../domain/peer.js'
import { Prisma, type Queries } from '../database.js'
import { lockedAccounts } from '../ledger/index.js'

/** What is changed of a peer. What is undefined stays; null takes a limit away. */
export interface PeerChange extends Partial<Readonly<Record<keyof PeerLimits, bigint | null | undefined>>> {
  readonly ilpAddress?: string | undefined
  readonly routes?: readonly string[] | undefined
  readonly endpoint?: string | undefined
  /** Encrypted. */
  readonly sealedOutgoingToken?: string | undefined
}

/** Fragment: a limit after a change of it. */
const changed = (column: Prisma.Sql, name: keyof PeerLimits): Prisma.Sql => Prisma.sql`
  case when ${placeholder(`${name}Changes`)}::boolean then ${placeholder(name)}::numeric else ${column} end`

/** Fragments: the columns of a peer that can change, and what they are after a change. */
const [SETTINGS, NEW_SETTINGS] = [
  Prisma.sql`
  ilp_address, routes, endpoint, outgoing_token,
  receivable_limit_value, payable_limit_value, packet_limit_value, low_alert_value, high_alert_value`,
  Prisma.sql`
  coalesce(${placeholder('ilpAddress')}::text, ilp_address),
  coalesce(${placeholder('routes')}::text[], routes),
  coalesce(${placeholder('endpoint')}::text, endpoint),
  coalesce(${placeholder('sealedOutgoingToken')}::text, outgoing_token),
  ${changed(Prisma.sql`receivable_limit_value`, 'receivableLimitValue')},
  ${changed(Prisma.sql`payable_limit_value`, 'payableLimitValue')},
  ${changed(Prisma.sql`packet_limit_value`, 'packetLimitValue')},
  ${changed(Prisma.sql`low_alert_value`, 'lowAlertValue')},
  ${changed(Prisma.sql`high_alert_value`, 'highAlertValue')}`
]

const UPDATE = new Statement<{ readonly id: string }>(
  'update-peer',
  Prisma.sql`
  update peer
     set (${SETTINGS}) = row(${NEW_SETTINGS})
   where id = ${placeholder('id')}::uuid and row(${SETTINGS}) is distinct from row(${NEW_SETTINGS})
  returning id`,
  { prepared: false }
)

const LIMITS: readonly (keyof PeerLimits)[] = [
  'receivableLimitValue',
  'payableLimitValue',
  'packetLimitValue',
  'lowAlertValue',
  'highAlertValue'
]

/**
 * Changes a peer, with an id (UUID).
 *
 * @returns whether this call changed it: false when it was so already. A token that is encrypted anew is another one.
 */
export async function updatePeer(on: Queries, id: string, change: PeerChange): Promise<boolean> {
  const { ilpAddress = null, endpoint = null, sealedOutgoingToken = null, routes } = change
  const limits = Object.fromEntries(
    LIMITS.flatMap((name): [string, boolean | string | null][] => [
      [`${name}Changes`, change[name] !== undefined],
      [name, change[name]?.toString() ?? null]
    ])
  )
  const rows = await UPDATE.rows(on, {
    id,
    ilpAddress,
    endpoint,
    sealedOutgoingToken,
    routes: routes ? [...routes] : null,
    ...limits
  })
  return rows.length === 1
}

/** A new token of a peer. */
export interface TokenRotation {
  /** Id (UUID) of the peer. */
  readonly peerId: string
  /** SHA-256 of the token. */
  readonly hash: Buffer
  readonly nowMs: number
  /** Until when the others are still accepted; 0: no more, whatever the clock of a replica says. */
  readonly othersUntilMs: number
}

// The token is inserted before the others end, so that one of another peer changes nothing: then the statement ends none. The peer's
// receivable account is locked, as by those who credit its packets: none is credited with a token that ended before.
const ROTATE = new Statement<{ readonly hash: string }>(
  'rotate-peer-token',
  Prisma.sql`
  with token as (
    insert into peer_token as t (hash, peer_id, created_at)
    values (${placeholder('hash')}::bytea, ${placeholder('peerId')}::uuid, ${placeholder('now')}::timestamptz)
    on conflict (hash) do update set expires_at = null where t.peer_id = excluded.peer_id
    returning hash, peer_id
  ), others as (
    update peer_token t
       set expires_at = least(coalesce(t.expires_at, 'infinity'), ${placeholder('othersUntil')}::timestamptz)
      from token where t.peer_id = token.peer_id and t.hash <> token.hash
  ), of_peer as (
    select p.receivable_account_id from token join peer p on p.id = token.peer_id
  ), ${lockedAccounts(Prisma.sql`array(select receivable_account_id from of_peer)`)}
  select encode(hash, 'hex') as hash from token where (select count(*) from locked_account) > 0`,
  { prepared: false }
)

/**
 * Adds a token of a peer, or takes one of it back into use. Its others are accepted for a while.
 *
 * @returns false when the token is another peer's
 */
export async function rotatePeerToken(on: Queries, rotation: TokenRotation): Promise<boolean> {
  const { peerId, hash, nowMs, othersUntilMs } = rotation
  const rows = await ROTATE.rows(on, {
    peerId,
    hash: bytesText(hash),
    now: instantText(nowMs),
    othersUntil: instantText(othersUntilMs)
  })
  return rows.length === 1
}
