import { type Amount, UINT64_MAX } from '@open-payments-server/amounts'
import type pg from 'pg'
import type { Window } from '../../domain/limits.js'

/** What a grant has spent. */
export interface SpentAmounts {
  readonly debited: Amount
  /** In the asset of the first receiver that was paid. */
  readonly received: Amount
}

/** Reads what grants have spent. */
export interface SpentAmountsRepository {
  /**
   * Adds up what was spent in the windows, in the assets of the first of them that was ever used.
   *
   * @param tokenHash SHA-256 of the token's value
   * @param now when the token must not have expired yet to be active
   */
  read(
    tokenHash: Buffer,
    now: Date,
    windows: readonly Window[]
  ): Promise<{ readonly tokenActive: boolean; readonly spent: SpentAmounts | undefined }>
}

/**
 * One statement for the token and all windows, prepared on the pool. Payments in another receive asset than their window's
 * are not in its counter, and are added from their reservations.
 */
const READ_SPENT = `
  with used as (
    select w.*, c.place
      from unnest($3::uuid[], $4::bigint[]) with ordinality as c (access_item_id, interval_index, place)
      join limit_window w using (access_item_id, interval_index)
     where w.access_item_id = any ($3)),
  first_used as (
    select debit_code, debit_scale, receive_code, receive_scale from used order by place limit 1),
  uncounted as (
    select coalesce(sum(case r.state when 'settled' then r.settled_receive else r.receive end), 0) as received
      from reservation r
      join used u using (access_item_id, interval_index)
      join first_used f on r.receive_code = f.receive_code and r.receive_scale = f.receive_scale
     where r.access_item_id = any (array(select access_item_id from used))
       and not r.receive_counted and r.state in ('open', 'settled')),
  spent as (
    select f.*,
           least(sum(u.debited) filter (where u.debit_code = f.debit_code and u.debit_scale = f.debit_scale),
                 ${UINT64_MAX.toString()}) as debited,
           least(sum(u.received) filter (where u.receive_code = f.receive_code and u.receive_scale = f.receive_scale)
                 + (select received from uncounted), ${UINT64_MAX.toString()}) as received
      from first_used f cross join used u
     group by f.debit_code, f.debit_scale, f.receive_code, f.receive_scale)
  select token.active as token_active, spent.*
    from (select exists (
            select 1 from access_token t join grant_request g on g.id = t.grant_id
             where t.value_hash = $1 and t.ended_at is null and t.expires_at > $2 and g.state = 'issued') as active
         ) as token
    left join spent on true`

type SpentRow = { readonly token_active: boolean } & (
  | {
      readonly debited: string
      readonly debit_code: string
      readonly debit_scale: number
      readonly received: string
      readonly receive_code: string
      readonly receive_scale: number
    }
  | { readonly debited: null }
)

export function createSpentAmountsRepository(pool: pg.Pool): SpentAmountsRepository {
  return {
    async read(tokenHash, now, windows) {
      const { rows } = await pool.query<SpentRow>({
        name: 'read-spent',
        text: READ_SPENT,
        values: [
          tokenHash,
          now,
          windows.map((window) => window.accessItemId),
          windows.map((window) => window.intervalIndex.toString())
        ]
      })
      const [row] = rows
      if (row === undefined) throw new Error('a statement that always answers a row answered none')
      return { tokenActive: row.token_active, spent: spentOf(row) }
    }
  }
}

function spentOf(row: SpentRow): SpentAmounts | undefined {
  if (row.debited === null) return undefined
  return {
    debited: { value: BigInt(row.debited), asset: { code: row.debit_code, scale: row.debit_scale } },
    received: { value: BigInt(row.received), asset: { code: row.receive_code, scale: row.receive_scale } }
  }
}
