import { placeholder, Statement } from '@open-payments-server/database'
import { type GrantUse, THRESHOLD_PERCENT } from '../../domain/grant-use.js'
import { Prisma, type Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import { placeOfItem } from '../grants/index.js'
import { type AmountColumns, amountsOf } from './values.js'

/** Fragment, a condition: whether a payment of `taken` brought what is spent of one of its limits to a part, or beyond. */
function hasReached(percent: number): Prisma.Sql {
  const part = Prisma.raw(String(percent))
  const hasReachedOf = (spent: Prisma.Sql, value: Prisma.Sql, limit: Prisma.Sql): Prisma.Sql => Prisma.sql`
    ${spent} * 100 >= ${limit} * ${part} and (${spent} - ${value}) * 100 < ${limit} * ${part}`
  return Prisma.sql`(
    ${hasReachedOf(Prisma.raw('t.spent_debit_value'), Prisma.raw('t.debit_value'), Prisma.raw('t.limit_debit_value'))} or
    ${hasReachedOf(Prisma.raw('t.spent_receive_value'), Prisma.raw('t.receive_value'), Prisma.raw('t.limit_receive_value'))})`
}

/**
 * Fragment: selects the events of the part `taken` of reserving: that a payment used its grant, and what that reached. Stores
 * only what cannot be read from its reservation: a grant that can be used is issued. A limit on what is received is only on
 * payments in one asset, which are counted.
 */
export const takenEvents = Prisma.sql`
  select told.type, t.grant_id as subject_id,
         json_build_object('payment_id', t.payment_id, 'updatedAt', t.grant_updated_at,
           'spent_debit_value', t.spent_debit_value::text,
           'spent_receive_value', case when t.receive_counted then t.spent_receive_value::text end) as change,
         t.asked_at as occurred_at
    from taken t
   cross join lateral (values
           (1, 'grant.used', true),
           (2, 'grant.threshold', ${hasReached(THRESHOLD_PERCENT)}),
           (3, 'grant.exhausted', ${hasReached(100)})) as told (place, type, happened)
   where told.happened
   order by t.place, told.place`

/** What is stored with an event of a use. */
interface Change {
  readonly payment_id: string
  readonly spent_debit_value: string
  readonly spent_receive_value: string | null
}

interface UseRow extends AmountColumns {
  readonly payment_id: string
  readonly wallet_address: string
  readonly receiver: string
  readonly position: number
  readonly interval_index: string
}

/** One statement with a fragment of another module, which a model cannot read. */
const READ = new Statement<UseRow>(
  'get-told-uses',
  Prisma.sql`
  select r.payment_id, r.wallet_address, r.receiver, ${placeOfItem(Prisma.sql`r.access_item_id`)} as position,
         r.interval_index::text as interval_index, r.debit_value::text as debit_value, r.debit_code, r.debit_scale,
         r.receive_value::text as receive_value, r.receive_code, r.receive_scale
    from reservation r where r.payment_id = any(${placeholder('ids')}::uuid[]) and r.access_item_id is not null`
)

/**
 * Reads what payments took when they were reserved.
 *
 * @returns the use of each event, in their order; undefined for events of other kinds, and what is no longer kept
 */
export async function readToldUses(
  on: Queries,
  events: readonly StoredEvent[]
): Promise<readonly (GrantUse | undefined)[]> {
  const changes = events.map(({ change }) =>
    change !== undefined && 'payment_id' in change ? (change as unknown as Change) : undefined
  )
  const ids = new Set(changes.flatMap((change) => (change === undefined ? [] : [change.payment_id])))
  if (ids.size === 0) return events.map(() => undefined)
  const rows = await READ.rows(on, { ids: [...ids] })
  const rowOf = new Map(rows.map((row) => [row.payment_id, row]))
  return changes.map((change) => change && useOf(change, rowOf.get(change.payment_id)))
}

function useOf(change: Change, row: UseRow | undefined): GrantUse | undefined {
  const amounts = row && amountsOf(row)
  return (
    amounts && {
      ...amounts,
      paymentId: row.payment_id,
      walletAddress: row.wallet_address,
      receiver: row.receiver,
      accessIndex: row.position,
      intervalIndex: BigInt(row.interval_index),
      spentDebitValue: BigInt(change.spent_debit_value),
      spentReceiveValue: change.spent_receive_value === null ? undefined : BigInt(change.spent_receive_value)
    }
  )
}
