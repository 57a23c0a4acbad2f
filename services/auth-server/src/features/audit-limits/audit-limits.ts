import { readSnapshot } from '@open-payments-server/database'
import {
  IntervalError,
  intervalIndexAt,
  parseRepeatingInterval
} from '@open-payments-server/value-types/intervals'
import type { Clock } from '@open-payments-server/value-types/clock'
import { type Database, Prisma, type Queries } from '../../modules/database.js'
import { appendAudit } from '../../modules/events/index.js'
import { findWrongActs } from './audit-acts.js'
import { findWrongConsents } from './audit-consents.js'
import { findByCursor } from './find-by-cursor.js'

/** The result of an audit. */
export interface LimitsAudit {
  readonly windowCount: bigint
  readonly reservationCount: bigint
  /** One sentence per violation; at most as many as requested. */
  readonly violations: readonly string[]
}

/** What auditing the limits needs. */
export interface AuditLimitsDependencies {
  /** For reading whole tables: its statements may take long. */
  readonly patientDatabase: Database
}

const COUNT = Prisma.sql`
  select (select count(*) from limit_window) as window_count, (select count(*) from reservation) as reservation_count`

/** Items `a` whose access always needs consent, by the rule of `needsInteraction`: what the configuration adds may change. */
const NEEDS_CONSENT = Prisma.sql`(a.type = 'outgoing-payment' or 'list-all' = any (a.actions))`

/** How far the clocks of two instances may be apart, in seconds: one charges by its own clock, and another one revokes. */
const CLOCKS_APART_MAX_SECONDS = Prisma.raw('60')

/**
 * Sums all reservations beside all windows: a full join and many kinds of violation, which Prisma cannot express.
 *
 * A window grows only by a payment that is answered what was spent with it: so the largest answer is never below the window.
 */
const VIOLATIONS = Prisma.sql`
  with reserved as (
    select access_item_id, interval_index,
           sum(case state when 'settled' then settled_debit_value else debit_value end) as debit_value,
           sum(case when not receive_counted then 0
                    when state = 'settled' then settled_receive_value else receive_value end) as receive_value
      from reservation
     where state in ('open', 'settled')
     group by access_item_id, interval_index),
  answered as (
    select access_item_id, interval_index, max(spent_debit_value) as debit_value,
           max(spent_receive_value) filter (where receive_counted) as receive_value
      from reservation
     where access_item_id is not null
     group by access_item_id, interval_index
    having bool_and(spent_debit_value is not null and spent_receive_value is not null)),
  lowering as (
    select act.id as act_id, act.at, item.id as access_item_id, item."limitDebitValue" as limit_debit_value,
           item."limitReceiveValue" as limit_receive_value, act.counted
      from grant_act act
     cross join jsonb_to_recordset(act.after -> 'access') as item (id uuid, "limitDebitValue" numeric, "limitReceiveValue" numeric)
     where act.kind = 'lowered'),
  lowered as (select distinct access_item_id from lowering),
  counted as (
    select l.act_id, l.access_item_id, c."intervalIndex" as interval_index,
           case when l.limit_debit_value is not null then greatest(l.limit_debit_value, c."spentDebitValue") end as debit_value,
           case when l.limit_receive_value is not null then greatest(l.limit_receive_value, c."spentReceiveValue") end
             as receive_value
      from lowering l
     cross join jsonb_to_recordset(l.counted) as c (
       "accessItemId" uuid, "intervalIndex" bigint, "spentDebitValue" numeric, "spentReceiveValue" numeric)
     where c."accessItemId" = l.access_item_id),
  begun as (
    select access_item_id, interval_index, min(charged_at) as first_at
      from reservation where access_item_id in (select access_item_id from lowered)
     group by access_item_id, interval_index),
  audited as (
    select access_item_id, interval_index,
           format('Access item %s, interval %s', access_item_id, interval_index) as name,
           w.access_item_id is not null as has_window, a.id is not null as has_item,
           w.spent_debit_value, w.spent_receive_value, w.limit_debit_value as counted_debit_limit,
           w.limit_receive_value as counted_receive_limit,
           coalesce(r.debit_value, 0) as reserved_debit_value, coalesce(r.receive_value, 0) as reserved_receive_value,
           answered.debit_value as answered_debit_value, answered.receive_value as answered_receive_value,
           -- What is lowered limits payments from then on: windows keep what had been spent.
           case when lowered.access_item_id is null then a.limit_debit_value else w.limit_debit_value end as limit_debit_value,
           case when lowered.access_item_id is null then a.limit_receive_value else w.limit_receive_value end as limit_receive_value
      from limit_window w
      full join reserved r using (access_item_id, interval_index)
      left join answered using (access_item_id, interval_index)
      left join access_item a on a.id = access_item_id
      left join lowered using (access_item_id))
  select name || ': reservations without a window' as violation from audited where not has_window
  union all
  select name || ': there is no such access item' from audited where not has_item
  union all
  select format('%s: counts %s as debited, and its payments were answered %s at most', name, spent_debit_value,
                answered_debit_value)
    from audited where spent_debit_value > answered_debit_value
  union all
  select format('%s: counts %s as received, and its payments were answered %s at most', name, spent_receive_value,
                answered_receive_value)
    from audited where spent_receive_value > answered_receive_value
  union all
  select format('Payment %s: with it, %s debited and %s received were answered as spent, less than its own %s and %s', payment_id,
                spent_debit_value, spent_receive_value, debit_value, receive_value)
    from reservation
   where state in ('open', 'settled') and (spent_debit_value < debit_value or spent_receive_value < receive_value)
  union all
  select format('%s: counts %s as debited, its reservations %s', name, spent_debit_value, reserved_debit_value)
    from audited where spent_debit_value <> reserved_debit_value
  union all
  select format('%s: counts %s as received, its reservations %s', name, spent_receive_value, reserved_receive_value)
    from audited where spent_receive_value <> reserved_receive_value
  union all
  select format('%s: %s debited is more than the limit of %s', name, greatest(spent_debit_value, reserved_debit_value),
                limit_debit_value)
    from audited where greatest(spent_debit_value, reserved_debit_value) > limit_debit_value
  union all
  select format('%s: %s received is more than the limit of %s', name, greatest(spent_receive_value, reserved_receive_value),
                limit_receive_value)
    from audited where greatest(spent_receive_value, reserved_receive_value) > limit_receive_value
  union all
  select name || ': its limits are not those of the access item'
    from audited
   where has_window
     and (counted_debit_limit is distinct from limit_debit_value
          or counted_receive_limit is distinct from limit_receive_value)
  union all
  select format('Access item %s, interval %s: %s debited and %s received, and since act %s at most %s and %s may be', access_item_id,
                interval_index, w.spent_debit_value, w.spent_receive_value, c.act_id, coalesce(c.debit_value::text, 'any'),
                coalesce(c.receive_value::text, 'any'))
    from counted c join limit_window w using (access_item_id, interval_index)
   where w.spent_debit_value > c.debit_value or w.spent_receive_value > c.receive_value
  union all
  select format('Access item %s, interval %s: begun at %s, and limited to %s and %s, more than act %s had left', access_item_id,
                interval_index, b.first_at, coalesce(w.limit_debit_value::text, 'any'), coalesce(w.limit_receive_value::text, 'any'), l.act_id)
    from lowering l join begun b using (access_item_id) join limit_window w using (access_item_id, interval_index)
   where b.first_at > l.at + ${CLOCKS_APART_MAX_SECONDS} * interval '1 second'
     and (l.limit_debit_value is not null and coalesce(w.limit_debit_value > l.limit_debit_value, true)
          or l.limit_receive_value is not null and coalesce(w.limit_receive_value > l.limit_receive_value, true))
  union all
  -- What had been spent may be more than a lowered limit: but then nothing is charged any more until enough is returned. Its own payment
  -- remembers what was spent with it, whatever was returned later.
  select format('Payment %s: charged at %s, with %s debited and %s received, and act %s had left %s and %s',
                r.payment_id, r.charged_at, r.spent_debit_value, r.spent_receive_value, l.act_id,
                coalesce(l.limit_debit_value::text, 'any'), coalesce(l.limit_receive_value::text, 'any'))
    from lowering l join reservation r using (access_item_id)
   where r.state in ('open', 'settled') and r.charged_at > l.at + ${CLOCKS_APART_MAX_SECONDS} * interval '1 second'
     and (r.spent_debit_value > l.limit_debit_value or r.spent_receive_value > l.limit_receive_value)
  union all
  select format('Payment %s: its reservation is not of the grant or in the assets of its window', r.payment_id)
    from reservation r
    join limit_window w using (access_item_id, interval_index)
    join access_item a on a.id = access_item_id
   where r.grant_id <> a.grant_id or r.debit_code <> w.debit_code or r.debit_scale <> w.debit_scale
      or r.receive_counted <> (r.receive_code = w.receive_code and r.receive_scale = w.receive_scale)
  union all
  select format('Access item %s, interval %s: counts in other assets than its limits', w.access_item_id, w.interval_index)
    from limit_window w join access_item a on a.id = w.access_item_id
   where (w.debit_code, w.debit_scale) <> (a.limit_debit_code, a.limit_debit_scale)
      or (w.receive_code, w.receive_scale) <> (a.limit_receive_code, a.limit_receive_scale)
  union all
  select format('Access item %s, interval %s: an item without an interval has only the interval 0', w.access_item_id,
                w.interval_index)
    from limit_window w join access_item a on a.id = w.access_item_id
   where a.limit_interval is null and w.interval_index <> 0
  union all
  select format('Payment %s: %s', r.payment_id, concat_ws('; ',
           case when a.type <> 'outgoing-payment' or not 'create' = any (a.actions) then
             format('its access item %s does not allow creating outgoing payments', a.id) end,
           case when a.identifier <> r.wallet_address then
             format('paid from %s, and its access item is for %s', r.wallet_address, a.identifier) end,
           case when a.limit_receiver <> r.receiver then
             format('paid to %s, and its access item allows %s', r.receiver, a.limit_receiver) end,
           case when (a.limit_debit_code, a.limit_debit_scale) <> (r.debit_code, r.debit_scale)
                  or (a.limit_receive_code, a.limit_receive_scale) <> (r.receive_code, r.receive_scale) then
             'its assets are not those of the limits of its access item' end))
    from reservation r join access_item a on a.id = r.access_item_id
   where r.state in ('open', 'settled')
     and (a.type <> 'outgoing-payment' or not 'create' = any (a.actions) or a.identifier <> r.wallet_address
          or a.limit_receiver <> r.receiver
          or (a.limit_debit_code, a.limit_debit_scale) <> (r.debit_code, r.debit_scale)
          or (a.limit_receive_code, a.limit_receive_scale) <> (r.receive_code, r.receive_scale))
  union all
  select format('Payment %s: paid from %s, and the account holder of %s agreed', r.payment_id, r.wallet_address,
                i.wallet_address)
    from reservation r join interaction i using (grant_id)
   where r.state in ('open', 'settled') and i.wallet_address <> r.wallet_address
  union all
  select format('Payment %s: charged at %s, and its grant was revoked at %s', r.payment_id, r.charged_at, g.updated_at)
    from reservation r join grant_request g on g.id = r.grant_id
   where r.state in ('open', 'settled') and g.state = 'revoked'
     and r.charged_at > g.updated_at + ${CLOCKS_APART_MAX_SECONDS} * interval '1 second'
  union all
  select format('Payment %s: charged at %s, and its grant had ended at %s', r.payment_id, r.charged_at, g.ends_at)
    from reservation r join grant_request g on g.id = r.grant_id
   where r.state in ('open', 'settled') and r.charged_at > g.ends_at + ${CLOCKS_APART_MAX_SECONDS} * interval '1 second'
  union all
  select format('Payment %s: charged at %s, and its grant was paused from %s to %s', r.payment_id, r.charged_at, pause.at,
                coalesce(pause.until::text, 'now'))
    from (select grant_id, kind, at, lead(at) over (partition by grant_id order by at) as until
            from grant_act where kind in ('paused', 'resumed')) pause
    join reservation r using (grant_id)
   where pause.kind = 'paused' and r.state in ('open', 'settled')
     and r.charged_at > pause.at + ${CLOCKS_APART_MAX_SECONDS} * interval '1 second'
     and (pause.until is null or r.charged_at < pause.until - ${CLOCKS_APART_MAX_SECONDS} * interval '1 second')
  union all
  select format('Payment %s: charged at %s, and act %s had stopped its grant at %s', r.payment_id, r.charged_at, act.id, act.at)
    from grant_act act join reservation r using (grant_id)
   where act.kind = 'stopped' and r.state in ('open', 'settled')
     and r.charged_at > act.at + ${CLOCKS_APART_MAX_SECONDS} * interval '1 second'
  union all
  select format('Grant %s: the hash of its consent record is not of its document', grant_id)
    from consent_record where document_hash <> sha256(convert_to(document, 'UTF8'))
  union all
  select format('Grant %s: spent by %s payments, and it is %s with an interaction that is %s', grant_id,
                coalesce(payments, 0), coalesce(g.state::text, 'missing'), coalesce(i.state::text, 'missing'))
    from (select grant_id, count(*) as payments from reservation where state in ('open', 'settled') group by grant_id) spender
    full join (select distinct a.grant_id from access_item a join grant_request g on g.id = a.grant_id
                where ${NEEDS_CONSENT} and g.state = 'issued'
                union
               select id from grant_request where subject is not null and state = 'issued') payer using (grant_id)
    left join grant_request g on g.id = grant_id
    left join interaction i using (grant_id)
   where (g.state in ('issued', 'revoked') and i.state = 'APPROVED') is not true
  union all
  select format('Grant %s: its access item %s is for %s, and the account holder of %s agreed', g.id, a.id, coalesce(a.identifier, 'any'),
                coalesce(i.wallet_address, 'nothing'))
    from grant_request g join access_item a on a.grant_id = g.id join interaction i on i.grant_id = g.id
   where g.state in ('issued', 'revoked') and ${NEEDS_CONSENT} and i.state = 'APPROVED'
     and i.wallet_address is distinct from a.identifier
  union all
  select format('Grant %s: it names the subject %s, and the account holder of %s agreed', g.id, s ->> 'id', i.wallet_address)
    from grant_request g cross join jsonb_array_elements(g.subject -> 'sub_ids') s join interaction i on i.grant_id = g.id
   where g.state in ('issued', 'revoked') and i.state = 'APPROVED' and i.wallet_address is distinct from s ->> 'id'`

/**
 * The instants charged to each interval. The instants of an interval are consecutive, so the first and the last stand for
 * all between. Read by a cursor: there are as many as windows.
 */
const CHARGED_INTERVALS = Prisma.sql`
  select r.access_item_id, r.interval_index::text as interval_index, a.limit_interval, min(r.charged_at) as first_at, max(r.charged_at) as last_at
    from reservation r join access_item a on a.id = r.access_item_id
   where a.limit_interval is not null and r.state in ('open', 'settled')
   group by r.access_item_id, r.interval_index, a.limit_interval`

interface ChargedInterval {
  readonly access_item_id: string
  readonly interval_index: string
  readonly limit_interval: string
  readonly first_at: Date
  readonly last_at: Date
}

/** Audits the limits. It reads one snapshot of everything, and locks nothing. */
export function auditLimits(
  violationsMax: number,
  { patientDatabase }: AuditLimitsDependencies
): Promise<LimitsAudit> {
  return readSnapshot(patientDatabase, async (snapshot: Queries) => {
    const [counts] = await snapshot.$queryRaw<{ window_count: bigint; reservation_count: bigint }[]>(COUNT)
    const violations = await snapshot.$queryRaw<{ violation: string }[]>(
      Prisma.sql`${VIOLATIONS} limit ${violationsMax}::integer`
    )
    if (counts === undefined) throw new Error('a statement that always answers a row answered none')
    return {
      windowCount: counts.window_count,
      reservationCount: counts.reservation_count,
      violations: [
        ...violations.map(({ violation }) => violation),
        ...(await findWrongIntervals(snapshot, violationsMax - violations.length)),
        ...(await findWrongConsents(snapshot, violationsMax - violations.length)),
        ...(await findWrongActs(snapshot, violationsMax - violations.length))
      ].slice(0, violationsMax)
    }
  })
}

/** What telling of an audit needs. */
export interface TellAuditDependencies extends AuditLimitsDependencies {
  readonly database: Queries
  readonly clock: Clock
}

/** As {@link auditLimits}, and an event tells of the result. */
export async function tellAudit(
  violationsMax: number,
  dependencies: TellAuditDependencies
): Promise<LimitsAudit> {
  const audit = await auditLimits(violationsMax, dependencies)
  const check = {
    invariant: 'What every grant has spent equals its reservations, within its limits.',
    checkedCount: audit.windowCount + audit.reservationCount,
    violations: audit.violations
  }
  await appendAudit(dependencies.database, [check], dependencies.clock.now())
  return audit
}

/** Finds charges to an interval that does not contain their instant: only this code knows where intervals begin. */
function findWrongIntervals(snapshot: Queries, violationsMax: number): Promise<string[]> {
  const inspected = {
    cursor: 'charged_interval',
    rows: CHARGED_INTERVALS,
    pageSize: 5_000,
    findWrong: findWrongInterval
  }
  return findByCursor(snapshot, inspected, violationsMax)
}

function findWrongInterval(charged: ChargedInterval): string[] {
  const { first_at, last_at, limit_interval } = charged
  const name = `Access item ${charged.access_item_id}, interval ${charged.interval_index}`
  try {
    const interval = parseRepeatingInterval(limit_interval)
    const wrong = [first_at, last_at].find(
      (at) => intervalIndexAt(interval, at.getTime())?.toString() !== charged.interval_index
    )
    return wrong === undefined
      ? []
      : [`${name}: charged at ${wrong.toISOString()}, which is not in that interval of ${limit_interval}`]
  } catch (error) {
    if (!(error instanceof IntervalError)) throw error
    return [`${name}: ${limit_interval} is no interval`]
  }
}
