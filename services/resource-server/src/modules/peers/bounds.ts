import { placeholder } from '@open-payments-server/database'
import type { PeerLimits } from '../../domain/peer.js'
import { Prisma } from '../database.js'
import { payableOf, receivableOf } from '../ledger/index.js'
import { readLimit } from './row.js'

/** What decides how much more a peer may owe. */
export interface PeerBounds extends Pick<PeerLimits, 'receivableLimitValue' | 'lowAlertValue'> {
  readonly receivableValue: bigint
  readonly payableValue: bigint
}

/** The columns of {@link peerBounds}. */
export interface PeerBoundsRow {
  readonly id: string
  readonly receivable_limit_value: string | null
  readonly low_alert_value: string | null
  readonly receivable_value: string
  readonly payable_value: string
}

/**
 * Fragment: selects what decides how much more the peers with `peerIds` (UUID), which it takes, may owe ({@link PeerBoundsRow}): exact while
 * their receivable accounts are locked, since what the provider owes them only falls where that was settled, which locks both.
 */
export const peerBounds = Prisma.sql`
  select p.id, p.receivable_limit_value::text, p.low_alert_value::text,
         ${receivableOf(Prisma.sql`p.receivable_account_id`)}::text as receivable_value,
         ${payableOf(Prisma.sql`p.payable_account_id`)}::text as payable_value
    from peer p where p.id = any (${placeholder('peerIds')}::uuid[])`

/** Fragment, a condition: whether the provider may owe the peer with an id any amount. */
export const isOwedAnything = (id: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(select payee.payable_limit_value is null from peer payee where payee.id = ${id})`

/** Reads rows of {@link peerBounds}, by the ids of the peers. */
export function readPeerBounds(rows: readonly PeerBoundsRow[]): ReadonlyMap<string, PeerBounds> {
  return new Map(
    rows.map((row) => [
      row.id,
      {
        receivableLimitValue: readLimit(row.receivable_limit_value),
        lowAlertValue: readLimit(row.low_alert_value),
        receivableValue: BigInt(row.receivable_value),
        payableValue: BigInt(row.payable_value)
      }
    ])
  )
}
