import type { Peer } from '../../domain/peer.js'
import { Prisma } from '../database.js'
import { assetById, payableOf, receivableOf } from '../ledger/index.js'

/** The columns of a {@link PeerRow}: `p` is the peer, `s` its asset. */
export const PEER_COLUMNS = Prisma.sql`
  p.id, p.name, p.ilp_address, p.routes, p.endpoint, p.receivable_limit_value::text, p.payable_limit_value::text,
  p.packet_limit_value::text, p.low_alert_value::text, p.high_alert_value::text, p.created_at, s.code, s.scale,
  ${receivableOf(Prisma.sql`p.receivable_account_id`)}::text as receivable_value,
  ${payableOf(Prisma.sql`p.payable_account_id`)}::text as payable_value`

/** Joins the asset to a peer `p`. */
export const PEER_JOINS = assetById(Prisma.sql`p.asset_id`, Prisma.sql`s`)

/** A peer as the database returns it: numbers of arbitrary size are text. */
export interface PeerRow {
  readonly id: string
  readonly name: string
  readonly ilp_address: string
  readonly routes: readonly string[]
  readonly endpoint: string
  readonly receivable_limit_value: string | null
  readonly payable_limit_value: string | null
  readonly packet_limit_value: string | null
  readonly low_alert_value: string | null
  readonly high_alert_value: string | null
  readonly created_at: Date
  readonly code: string
  readonly scale: number
  readonly receivable_value: string
  readonly payable_value: string
}

/** Reads a row. */
export function readPeerRow(row: PeerRow): Peer {
  return {
    id: row.id,
    name: row.name,
    asset: { code: row.code, scale: row.scale },
    ilpAddress: row.ilp_address,
    routes: row.routes,
    endpoint: row.endpoint,
    receivableLimitValue: readLimit(row.receivable_limit_value),
    payableLimitValue: readLimit(row.payable_limit_value),
    packetLimitValue: readLimit(row.packet_limit_value),
    lowAlertValue: readLimit(row.low_alert_value),
    highAlertValue: readLimit(row.high_alert_value),
    receivableValue: BigInt(row.receivable_value),
    payableValue: BigInt(row.payable_value),
    createdAtMs: row.created_at.getTime()
  }
}

/** Reads a limit: null is none. */
export function readLimit(text: string | null): bigint | undefined {
  return text === null ? undefined : BigInt(text)
}
