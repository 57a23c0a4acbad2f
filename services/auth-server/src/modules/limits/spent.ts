import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { Amount } from '@open-payments-server/value-types/amounts'
import type { Window } from '../../domain/limits.js'
import { Prisma, type Queries } from '../database.js'
import { usableTokens } from '../tokens/index.js'
import { charged, chargedWindows } from './charged.js'
import type { ReservationRequest } from './reserve.js'
import { LARGEST_VALUE, type SpentColumns, spentOf, type SpentValues } from './values.js'

/** What a grant has spent. */
export interface SpentAmounts {
  readonly spentDebitAmount: Amount
  /** In the asset of the first receiver that was paid. */
  readonly spentReceiveAmount: Amount
}

/**
 * Fragment: the part `uncounted (spent_receive_value)`, what payments in the windows of `charged` received in an asset that
 * their window's counter leaves out. Reads the part `asset (receive_code, receive_scale)`, which has one row at most.
 */
const uncounted = Prisma.sql`
  uncounted as (
    select coalesce(sum(case r.state when 'settled' then r.settled_receive_value else r.receive_value end), 0)
             as spent_receive_value
      from reservation r
      join charged using (access_item_id, interval_index)
      join asset a on r.receive_code = a.receive_code and r.receive_scale = a.receive_scale
     where r.access_item_id = any (array(select access_item_id from charged))
       and not r.receive_counted and r.state in ('open', 'settled'))`

/**
 * A sum over two tables, stored in a third. Only for grants with several access items, and for payments in another receive
 * asset than their window's, which its counter leaves out. The payment itself counts as it was reserved: if it has ended since,
 * what it returned is added, as it was when the sums were read.
 */
const COMPLETE_SPENT = new Statement<SpentColumns>(
  'complete-spent',
  Prisma.sql`
  with wanted as (
    select ${placeholder('paymentId')}::uuid as payment_id,
           ${placeholder('debitCode')}::text as debit_code, ${placeholder('debitScale')}::smallint as debit_scale,
           ${placeholder('receiveCode')}::text as receive_code, ${placeholder('receiveScale')}::smallint as receive_scale),
  ${charged},
  counted as (
    select coalesce(sum(w.spent_debit_value) filter (
             where w.debit_code = a.debit_code and w.debit_scale = a.debit_scale), 0) as spent_debit_value,
           coalesce(sum(w.spent_receive_value) filter (
             where w.receive_code = a.receive_code and w.receive_scale = a.receive_scale), 0) as spent_receive_value
      from limit_window w join charged using (access_item_id, interval_index) cross join wanted a),
  asset as (
    select receive_code, receive_scale from wanted),
  ${uncounted},
  returned as (
    select case when o.state = 'open' then 0 else o.debit_value - coalesce(o.settled_debit_value, 0) end as debit_value,
           case when o.state = 'open' then 0 else o.receive_value - coalesce(o.settled_receive_value, 0) end as receive_value
      from reservation o join wanted using (payment_id))
  update reservation r
     set spent_debit_value = coalesce(
           r.spent_debit_value, least(counted.spent_debit_value + returned.debit_value, ${LARGEST_VALUE})),
         spent_receive_value = coalesce(
           r.spent_receive_value,
           least(counted.spent_receive_value + uncounted.spent_receive_value + returned.receive_value, ${LARGEST_VALUE}))
    from counted, uncounted, returned
   where r.payment_id = (select payment_id from wanted)
  returning r.spent_debit_value::text, r.spent_receive_value::text`
)

/**
 * Sums up what was spent in some windows, in the assets of the payment, and stores it with its reservation.
 *
 * @returns what was stored first, if it was summed up before
 */
export async function completeSpent(
  on: Queries,
  { paymentId, content: { debitAmount, receiveAmount } }: ReservationRequest,
  windows: readonly Window[]
): Promise<SpentValues> {
  const [row] = await COMPLETE_SPENT.rows(on, {
    paymentId,
    ...chargedWindows(windows),
    debitCode: debitAmount.asset.code,
    debitScale: debitAmount.asset.scale,
    receiveCode: receiveAmount.asset.code,
    receiveScale: receiveAmount.asset.scale
  })
  const spent = row && spentOf(row)
  if (spent === undefined) throw new Error('a reservation is gone that was just recorded')
  return spent
}

/**
 * One statement for the token and all windows. Payments in another receive asset than their window's are not in its
 * counter, and are summed from their reservations.
 */
const READ_SPENT = new Statement<SpentRow>(
  'read-spent',
  Prisma.sql`
  with wanted as (
    select ${placeholder('tokenHash')}::bytea as token_hash, ${placeholder('now')}::timestamptz as asked_at),
  ${usableTokens},
  ${charged},
  used as (
    select w.*, c.place
      from charged c join limit_window w using (access_item_id, interval_index)
     where w.access_item_id = any (array(select access_item_id from charged))),
  asset as (
    select debit_code, debit_scale, receive_code, receive_scale from used order by place limit 1),
  ${uncounted},
  spent as (
    select f.*,
           least(sum(u.spent_debit_value) filter (where u.debit_code = f.debit_code and u.debit_scale = f.debit_scale),
                 ${LARGEST_VALUE})::text as spent_debit_value,
           least(sum(u.spent_receive_value) filter (where u.receive_code = f.receive_code and u.receive_scale = f.receive_scale)
                 + (select spent_receive_value from uncounted), ${LARGEST_VALUE})::text as spent_receive_value
      from asset f cross join used u
     group by f.debit_code, f.debit_scale, f.receive_code, f.receive_scale)
  select exists (select 1 from living) as token_active, spent.*
    from (select) as one left join spent on true`
)

type SpentRow = { readonly token_active: boolean } & (
  | {
      readonly spent_debit_value: string
      readonly debit_code: string
      readonly debit_scale: number
      readonly spent_receive_value: string
      readonly receive_code: string
      readonly receive_scale: number
    }
  | { readonly spent_debit_value: null }
)

/**
 * Sums up what was spent in some windows, in the assets of the first of them that was ever used.
 *
 * @param tokenHash SHA-256 of the token's value
 * @param nowMs the token must not have expired by then to be active
 */
export async function readSpent(
  on: Queries,
  tokenHash: Buffer,
  windows: readonly Window[],
  nowMs: number
): Promise<{ readonly tokenActive: boolean; readonly spent: SpentAmounts | undefined }> {
  const values = { tokenHash, now: instantText(nowMs), ...chargedWindows(windows) }
  const [row] = await READ_SPENT.rows(on, values)
  if (row === undefined) throw new Error('a statement that always answers a row answered none')
  return { tokenActive: row.token_active, spent: spentAmountsOf(row) }
}

function spentAmountsOf(row: SpentRow): SpentAmounts | undefined {
  if (row.spent_debit_value === null) return undefined
  return {
    spentDebitAmount: {
      value: BigInt(row.spent_debit_value),
      asset: { code: row.debit_code, scale: row.debit_scale }
    },
    spentReceiveAmount: {
      value: BigInt(row.spent_receive_value),
      asset: { code: row.receive_code, scale: row.receive_scale }
    }
  }
}
