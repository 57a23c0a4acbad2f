import { placeholder, Statement } from '@open-payments-server/database'
import type { PeerLimits } from '../../domain/peer.js'
import { Prisma, type Queries } from '../database.js'
import { payableOf, receivableOf } from '../ledger/index.js'
import { readLimit } from './row.js'

/** What decides how much more a peer may owe. */
export interface PeerBounds extends Pick<PeerLimits, 'receivableLimitValue' | 'lowAlertValue'> {
  readonly receivableValue: bigint
  readonly payableValue: bigint
}

interface BoundsRow {
  readonly id: string
  readonly receivable_limit_value: string | null
  readonly low_alert_value: string | null
  readonly receivable_value: string
  readonly payable_value: string
}

const BOUNDS = new Statement<BoundsRow>(
  'get-bounds-of-peers',
  Prisma.sql`
  select p.id, p.receivable_limit_value::text, p.low_alert_value::text,
         ${receivableOf(Prisma.sql`p.receivable_account_id`)}::text as receivable_value,
         ${payableOf(Prisma.sql`p.payable_account_id`)}::text as payable_value
    from peer p where p.id = any (${placeholder('ids')}::uuid[])`
)

/**
 * Reads what decides how much more peers may owe: exact while their receivable accounts are locked, since what the provider owes
 * them only falls where that was settled, which locks both.
 *
 * @param ids ids (UUID) of peers
 */
export async function readPeerBounds(
  on: Queries,
  ids: readonly string[]
): Promise<ReadonlyMap<string, PeerBounds>> {
  const rows = await BOUNDS.rows(on, { ids: [...ids] })
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
