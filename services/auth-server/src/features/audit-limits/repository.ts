import { readSnapshot } from '@open-payments-server/database'
import type pg from 'pg'

/** What an audit found. */
export interface LimitsAudit {
  readonly windowCount: bigint
  readonly reservationCount: bigint
  /** One sentence for each violation; at most as many as asked for. */
  readonly violations: readonly string[]
}

/** Audits the limits. */
export interface LimitsAuditRepository {
  /** Looks at one snapshot of the whole, and locks nothing. */
  audit(violationsMax: number): Promise<LimitsAudit>
}

/** Longest that one statement of an audit may take, in milliseconds: it reads everything. */
const AUDIT_STATEMENT_TIMEOUT_MS = 120_000

const COUNT = `
  select (select count(*) from limit_window) as window_count, (select count(*) from reservation) as reservation_count`

/**
 * Adds up all reservations beside all windows: a full join and six kinds of violation, for which Prisma has no words.
 */
const FIND_VIOLATIONS = `
  with held as (
    select access_item_id, interval_index,
           sum(case state when 'settled' then settled_debit else debit end) as debited,
           sum(case when not receive_counted then 0
                    when state = 'settled' then settled_receive else receive end) as received
      from reservation
     where state in ('open', 'settled')
     group by access_item_id, interval_index),
  audited as (
    select access_item_id, interval_index,
           format('Access item %s, interval %s', access_item_id, interval_index) as name,
           w.access_item_id is not null as has_window,
           w.debited, w.received, w.debit_cap, w.receive_cap,
           coalesce(h.debited, 0) as held_debited, coalesce(h.received, 0) as held_received,
           a.limit_debit_value, a.limit_receive_value
      from limit_window w
      full join held h using (access_item_id, interval_index)
      left join access_item a on a.id = access_item_id)
  select name || ': reservations without a window' as violation from audited where not has_window
  union all
  select format('%s: counts %s as debited, its reservations hold %s', name, debited, held_debited)
    from audited where debited <> held_debited
  union all
  select format('%s: counts %s as received, its reservations hold %s', name, received, held_received)
    from audited where received <> held_received
  union all
  select format('%s: %s debited is more than the limit of %s', name, greatest(debited, held_debited), limit_debit_value)
    from audited where greatest(debited, held_debited) > limit_debit_value
  union all
  select format('%s: %s received is more than the limit of %s', name, greatest(received, held_received),
                limit_receive_value)
    from audited where greatest(received, held_received) > limit_receive_value
  union all
  select name || ': its caps are not the limits of the access item'
    from audited
   where has_window
     and (debit_cap is distinct from limit_debit_value or receive_cap is distinct from limit_receive_value)
  union all
  select format('Payment %s: its reservation is not of the grant or in the assets of its window', r.payment_id)
    from reservation r
    join limit_window w using (access_item_id, interval_index)
    join access_item a on a.id = access_item_id
   where r.grant_id <> a.grant_id or r.debit_code <> w.debit_code or r.debit_scale <> w.debit_scale
      or r.receive_counted <> (r.receive_code = w.receive_code and r.receive_scale = w.receive_scale)
  limit $1`

export function createLimitsAuditRepository(pool: pg.Pool): LimitsAuditRepository {
  return {
    async audit(violationsMax) {
      return readSnapshot(pool, AUDIT_STATEMENT_TIMEOUT_MS, async (snapshot) => {
        const [counts] = await snapshot.query<{ window_count: string; reservation_count: string }>(COUNT)
        const violations = await snapshot.query<{ violation: string }>(FIND_VIOLATIONS, [violationsMax])
        if (counts === undefined) throw new Error('a statement that always answers a row answered none')
        return {
          windowCount: BigInt(counts.window_count),
          reservationCount: BigInt(counts.reservation_count),
          violations: violations.map(({ violation }) => violation)
        }
      })
    }
  }
}
