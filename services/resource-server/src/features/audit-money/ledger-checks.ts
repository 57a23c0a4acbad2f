import { readSnapshot } from '@open-payments-server/database'
import { type AuditCheck, tellViolations } from '../../domain/audit.js'
import { PAID_AFTER_TERMS_MAX_MS } from '../../domain/outgoing-payment.js'
import { INSTANTS_APART_MAX_SECONDS } from '../../domain/payment-instants.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { type LedgerCheckDependencies, type LedgerInvariant, receiverPrefix } from './ledger-invariant.js'
import { PEER_INVARIANTS, PEER_TRANSFER_KINDS } from './peer-checks.js'
import { REFUND_INVARIANTS } from './refund-checks.js'
import { SENDING_INVARIANTS } from './sending-checks.js'

/**
 * The expected result of every payment, by the rule in `domain/settlement.ts`: the sender pays its share of the debit,
 * rounded up, for what was delivered (`sent`), and of that the same share of the debit less the fee (`net`) excludes the
 * fee. What was sent elsewhere pays the fixed part of the fee whole. The receiver may have been deleted if nothing was delivered.
 */
const TERMS = `terms as (
        select p.id, p.state, p.state in ('completed', 'failed') as ended, p.failure_reason, p.wallet_address_id, p.client, p.quote_id, p.receiver, p.debit_value,
               p.fee_value, p.receive_value, p.receive_asset_id, p.settled_debit_value, p.settled_receive_value, p.updated_at,
               p.grant_spent_debit_value, p.grant_spent_receive_value, p.peer_id, p.send_max_value, p.fixed_fee_value, p.begin_until,
               i.completed as receiver_completed,
               i.expires_at as receiver_expires_at,
               coalesce(i.incoming_value, 18446744073709551615) - i.received_value as receiver_room,
               s.id as debit_account_id, s.asset_id as debit_asset_id, i.id as incoming_payment_id,
               r.id as credit_account_id, r.asset_id as receiver_asset_id,
               case when p.settled_receive_value > 0 then p.fixed_fee_value else 0 end
                 + div((p.debit_value - p.fixed_fee_value) * p.settled_receive_value + p.receive_value - 1, p.receive_value) as sent,
               div((p.debit_value - p.fee_value) * p.settled_receive_value + p.receive_value - 1, p.receive_value) as net,
               case when p.settled_receive_value < div((p.debit_value - 1) * p.receive_value, p.debit_value) then 1
                    else p.receive_value - div((p.debit_value - 1) * p.receive_value, p.debit_value) end as room_left_max
          from outgoing_payment p
          join wallet_address sw on sw.id = p.wallet_address_id
          join account s on s.id = sw.account_id
          left join incoming_payment i
            on i.id = case when starts_with(p.receiver, $1)
                            and substring(p.receiver from length($1) + 1) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                           then substring(p.receiver from length($1) + 1)::uuid end
          left join wallet_address rw on rw.id = i.wallet_address_id
          left join account r on r.id = rw.account_id)`

const INVARIANTS: readonly LedgerInvariant[] = [
  {
    // Computed from the totals of wallets and the entries of the provider's accounts: entries alone always balance by their
    // structure.
    invariant: 'In every asset, the balances of wallets and of the provider add up to nothing.',
    count: 'select count(*) from asset',
    violations: `
      select format('asset %s with scale %s: wallets have %s, the provider %s', s.code, s.scale, w.balance, p.balance) as violation
        from asset s
        left join lateral (
          select coalesce(sum(credits_posted - debits_posted), 0) as balance
            from account where asset_id = s.id and kind = 'wallet') w on true
        left join lateral (
          select coalesce(sum(case l.side when 'credit' then l.amount else -l.amount end), 0) as balance
            from ledger_entry l join account a on a.id = l.account_id
           where a.asset_id = s.id and a.kind <> 'wallet') p on true
       where w.balance + p.balance <> 0`
  },
  {
    invariant:
      'Every account of a wallet or a peer has the totals that its entries and holds add up to, and no wallet is overdrawn.',
    count: `select count(*) from account where kind in ('wallet', 'peer_receivable', 'peer_payable')`,
    violations: `
      select format('account %s: posted debits %s, credits %s, held %s; its entries add up to %s, %s, %s', coalesce(a.name, a.id::text),
                    a.debits_posted, a.credits_posted, a.debits_pending, d.posted, c.posted, d.pending) as violation
        from account a
        left join lateral (
          select coalesce(sum(posted_amount), 0) as posted,
                 coalesce(sum(amount) filter (where state = 'pending'), 0) as pending
            from transfer where debit_account_id = a.id) d on true
        left join lateral (
          select coalesce(sum(posted_amount), 0) as posted from transfer where credit_account_id = a.id) c on true
       where a.kind in ('wallet', 'peer_receivable', 'peer_payable')
         and ((a.debits_posted, a.credits_posted, a.debits_pending) <> (d.posted, c.posted, d.pending)
              or (a.kind = 'wallet' and a.credits_posted - a.debits_posted - a.debits_pending < 0))`
  },
  {
    invariant: 'Clearing is empty in every asset: whatever a payment brought in went out with it.',
    count: `select count(*) from account where kind = 'clearing'`,
    violations: `
      select format('clearing of %s with scale %s has %s', s.code, s.scale, e.balance) as violation
        from (select a.asset_id, sum(case side when 'credit' then amount else -amount end) as balance
                from ledger_entry l join account a on a.id = l.account_id
               where a.kind = 'clearing' group by a.asset_id) e
        join asset s on s.id = e.asset_id
       where e.balance <> 0`
  },
  {
    invariant: 'Every incoming payment has received what was delivered to it, and no more than its maximum.',
    count: 'select count(*) from incoming_payment',
    violations: `
      select format('incoming payment %s: received %s of %s; delivered %s', i.id, i.received_value,
                    coalesce(i.incoming_value::text, 'any'), coalesce(t.delivered, 0)) as violation
        from incoming_payment i
        left join (select incoming_payment_id, sum(posted_amount) as delivered from transfer
                    where state = 'posted' and incoming_payment_id is not null group by 1) t
          on t.incoming_payment_id = i.id
       where i.received_value <> coalesce(t.delivered, 0) or i.received_value > i.incoming_value
          or (i.received_value = i.incoming_value and not i.completed)`
  },
  {
    // The actual kinds of the accounts, whatever the transfer says: constraints can be dropped.
    invariant:
      'Every transfer joins accounts of its asset and of the kinds that its own kind may join, and no asset changed.',
    count: 'select count(*) from transfer',
    violations: `
      select format('%s %s goes from a %s account to a %s account', t.kind, t.id, d.kind, c.kind) as violation
        from transfer t
        left join account d on d.id = t.debit_account_id and d.asset_id = t.asset_id
        left join account c on c.id = t.credit_account_id and c.asset_id = t.asset_id
       where (t.kind::text, d.kind::text, c.kind::text) not in (
               ('deposit', 'outside', 'wallet'), ('withdrawal', 'wallet', 'outside'), ('payment', 'wallet', 'clearing'),
               ('fee', 'clearing', 'fees'), ('delivery', 'clearing', 'wallet'), ('delivery', 'clearing', 'exchange'),
               ('conversion', 'exchange', 'wallet'), ('refund', 'wallet', 'wallet'), ('refund', 'wallet', 'exchange'),
               ('refund_conversion', 'exchange', 'wallet'), ('refund_fee', 'fees', 'wallet'),
               ('receipt', 'peer_receivable', 'wallet'), ('receipt', 'peer_receivable', 'exchange'),
               ('receipt_conversion', 'exchange', 'wallet'), ('settlement_received', 'outside', 'peer_receivable'),
               ('settlement_sent', 'peer_payable', 'outside'), ('dispatch', 'exchange', 'peer_payable')) is not false
          or (t.payment_id is null) <> (t.kind in ('deposit', 'withdrawal'))
      union all
      select format('account %s is in %s with scale %s, and its asset is %s with scale %s', coalesce(a.name, a.kind::text),
                    a.asset_code, a.asset_scale, coalesce(s.code, 'missing'), s.scale)
        from account a left join asset s on s.id = a.asset_id
       where (a.asset_code, a.asset_scale) is distinct from (s.code, s.scale)`
  },
  {
    invariant:
      'Every payment has exactly the transfers that its assets, its fee and its end demand, between the right accounts.',
    count: `select count(*) from transfer where payment_id is not null and kind not in ('refund', 'refund_conversion', 'refund_fee')
              and kind not in ${PEER_TRANSFER_KINDS}`,
    values: receiverPrefix,
    // A payment whose sender lacked the money has no hold; which ones these are was recorded as they were persisted.
    violations: `
      with ${TERMS}, expected as (
        select p.id as payment_id, e.kind::transfer_kind as kind, e.state::transfer_state as state, e.debit_account_id,
               e.credit_account_id, e.asset_id, e.amount, e.posted_amount, e.incoming_payment_id
          from terms p
          left join grant_reservation r on r.payment_id = p.id
          left join account clearing on clearing.asset_id = p.debit_asset_id and clearing.kind = 'clearing'
          left join account fees on fees.asset_id = p.debit_asset_id and fees.kind = 'fees'
          left join account source on source.asset_id = p.debit_asset_id and source.kind = 'exchange'
          left join account target on target.asset_id = p.receive_asset_id and target.kind = 'exchange'
         cross join lateral (values
           ('payment', case when p.state in ('pending', 'awaiting_approval') then 'pending' when p.sent > 0 then 'posted' else 'voided' end,
            p.debit_account_id, clearing.id, p.debit_asset_id, p.debit_value, case when p.ended then nullif(p.sent, 0) end, null::uuid,
            r.held is not false),
           ('fee', 'posted', clearing.id, fees.id, p.debit_asset_id, p.sent - p.net, p.sent - p.net, null,
            p.ended and p.sent > p.net),
           ('delivery', 'posted', clearing.id,
            case when p.peer_id is null and p.debit_asset_id = p.receive_asset_id then p.credit_account_id else source.id end,
            p.debit_asset_id, p.net, p.net,
            case when p.peer_id is null and p.debit_asset_id = p.receive_asset_id then p.incoming_payment_id end, p.ended and p.sent > 0),
           ('conversion', 'posted', target.id, p.credit_account_id, p.receive_asset_id, p.settled_receive_value, p.settled_receive_value,
            p.incoming_payment_id, p.sent > 0 and p.peer_id is null and p.debit_asset_id <> p.receive_asset_id)
         ) as e (kind, state, debit_account_id, credit_account_id, asset_id, amount, posted_amount, incoming_payment_id,
                 demanded)
         where e.demanded)
      select case
               when t.id is null then format('payment %s lacks its %s of %s', e.payment_id, e.kind, e.amount)
               when e.payment_id is null then format('%s %s of %s belongs to no payment that demands it (%s)', t.kind, t.id,
                                                     t.amount, t.payment_id)
               else format('%s %s of payment %s: %s of %s, from %s to %s; its payment demands %s of %s, from %s to %s',
                           t.kind, t.id, t.payment_id, t.state, coalesce(t.posted_amount, t.amount), t.debit_account_id,
                           t.credit_account_id, e.state, coalesce(e.posted_amount, e.amount),
                           coalesce(e.debit_account_id::text, 'none'), coalesce(e.credit_account_id::text, 'none'))
             end as violation
        from expected e
        full join (select * from transfer
                    where payment_id is not null and kind not in ('refund', 'refund_conversion', 'refund_fee')
                      and kind not in ${PEER_TRANSFER_KINDS}) t
          on t.payment_id = e.payment_id and t.kind = e.kind
       where t.id is null or e.payment_id is null
          or (t.state, t.debit_account_id, t.credit_account_id, t.asset_id, t.amount, t.posted_amount, t.incoming_payment_id)
             is distinct from
             (e.state, e.debit_account_id, e.credit_account_id, e.asset_id, e.amount, e.posted_amount, e.incoming_payment_id)
      union all
      select format('payment %s has %s transfers of the kind %s', payment_id, count(*), kind)
        from transfer where payment_id is not null group by payment_id, kind having count(*) > 1
      union all
      select format('the %s of payment %s has the id %s', kind, payment_id, id)
        from transfer where kind = 'payment' and id <> payment_id`
  },
  {
    invariant:
      'Every payment has sent the share of its debit that it delivered, on the terms of its quote and receiver.',
    count: 'select count(*) from outgoing_payment',
    values: receiverPrefix,
    violations: `
      with ${TERMS}
      select format('outgoing payment %s: %s', p.id, concat_ws('; ',
               case when p.settled_debit_value <> p.sent then
                 format('sent %s for %s delivered, which cost %s', p.settled_debit_value, p.settled_receive_value, p.sent) end,
               case when p.peer_id is null and p.debit_asset_id = p.receive_asset_id and p.debit_value <> p.fee_value + p.receive_value then
                 format('its debit of %s is not its fee of %s and the %s received', p.debit_value, p.fee_value,
                        p.receive_value) end,
               case when p.asset_differs then 'its receiver is in another asset' end,
               case when p.settled_receive_value > 0 and p.peer_id is null and p.credit_account_id is null then 'it delivered to no receiver' end,
               case when p.peer_id is not null and p.incoming_payment_id is not null then 'it was sent elsewhere to a receiver hosted here' end,
               case when p.quote_differs then format('it is not on the terms of its quote %s', p.quote_id) end,
               case when p.grant_counted_less then
                 format('with it, %s debited and %s received were counted under its grant, less than the payment itself',
                        p.grant_spent_debit_value, p.grant_spent_receive_value) end,
               case when p.funds_differ then
                 format('it ended as %s, and its sender %s the money', coalesce(p.failure_reason::text, p.state::text),
                        case when p.held then 'had' else 'lacked' end) end,
               case when p.failed_without_cause then
                 format('it failed with %s, which its receiver or its terms contradict: room for %s, %s, expires at %s, terms until %s',
                        p.failure_reason, p.receiver_room, case when p.receiver_completed then 'completed' else 'not completed' end,
                        p.receiver_expires_at, coalesce(p.begin_until::text, 'any time')) end,
               case when p.agreed_differs then
                 format('its quote is %s and its fee %s, and it was persisted with %s and %s', coalesce(p.quote_id::text, 'none'),
                        p.fee_value, coalesce(p.agreed_quote_id::text, 'none'), p.agreed_fee_value) end)) as violation
        from (select terms.*, terms.incoming_payment_id is not null and terms.receiver_asset_id <> terms.receive_asset_id as asset_differs,
                     terms.quote_id is not null
                     and (terms.wallet_address_id, terms.client, terms.receiver, terms.debit_value, terms.fee_value,
                          terms.receive_value, terms.receive_asset_id, terms.peer_id, terms.send_max_value, terms.fixed_fee_value)
                         is distinct from
                         (q.wallet_address_id, q.client, q.receiver, q.debit_value, q.fee_value, q.receive_value,
                          q.receive_asset_id, q.peer_id, q.send_max_value, q.fixed_fee_value) as quote_differs,
                     r.quote_id as agreed_quote_id, r.fee_value as agreed_fee_value,
                     (terms.quote_id, terms.fee_value) is distinct from (r.quote_id, r.fee_value) as agreed_differs,
                     terms.grant_spent_debit_value < terms.debit_value
                     or terms.grant_spent_receive_value < terms.receive_value as grant_counted_less,
                     r.held,
                     terms.state not in ('pending', 'awaiting_approval')
                     and terms.failure_reason is distinct from 'declined_by_provider'
                     and r.held <> (terms.failure_reason is distinct from 'insufficient_funds') as funds_differ,
                     -- What a receiver has received, its completion and its expiry never go back. A part that was reduced so that
                     -- the sender keeps a unit leaves less than the whole.
                     terms.incoming_payment_id is not null and case terms.failure_reason
                       when 'receiver_not_found' then true
                       when 'receiver_completed' then not terms.receiver_completed
                       when 'receiver_expired' then terms.receiver_expires_at > terms.updated_at
                       when 'receiver_full' then terms.receiver_room >= terms.room_left_max
                       when 'partially_delivered' then terms.receiver_room >= terms.room_left_max
                       when 'account_frozen' then not terms.receiver_completed and terms.receiver_expires_at > terms.updated_at
                                                  and coalesce(terms.begin_until > terms.updated_at, true)
                       when 'rate_changed' then coalesce(terms.begin_until > terms.updated_at, true)
                       else false end as failed_without_cause
                from terms
                left join quote q on q.id = terms.quote_id
                left join grant_reservation r on r.payment_id = terms.id) p
       where p.settled_debit_value <> p.sent
          or (p.peer_id is null and p.debit_asset_id = p.receive_asset_id and p.debit_value <> p.fee_value + p.receive_value)
          or (p.peer_id is not null and p.incoming_payment_id is not null) or p.asset_differs or p.quote_differs or p.agreed_differs or p.grant_counted_less or p.funds_differ
          or p.failed_without_cause or (p.settled_receive_value > 0 and p.peer_id is null and p.credit_account_id is null)`
  },
  {
    // The approval was requested by the statement that persisted the payment, and decided by the one that changed its state.
    invariant:
      'Every payment that awaits approval is undecided, and every other that met a rule is what was decided about it, in time.',
    count: 'select count(*) from payment_approval',
    violations: `
      select format('payment %s: %s, requested at %s and %s at %s, with time until %s', coalesce(p.id, a.payment_id),
                    coalesce(p.failure_reason::text, p.state::text, 'missing'), coalesce(a.requested_at::text, 'no time'),
                    coalesce(a.decision, 'undecided'), coalesce(a.decided_at::text, 'no time'), a.expires_at) as violation
        from outgoing_payment p
        full join payment_approval a on a.payment_id = p.id
       where case
         when a.payment_id is null then p.state = 'awaiting_approval' or p.failure_reason is not distinct from 'declined_by_provider'
         when p.id is null or a.requested_at <> p.created_at then true
         when a.decision is null then p.state <> 'awaiting_approval'
         when (a.decision = 'timed_out') is distinct from (a.decided_at >= a.expires_at) then true
         when a.decision = 'approved'
           then p.state = 'awaiting_approval' or p.failure_reason is not distinct from 'declined_by_provider'
         else p.failure_reason is distinct from 'declined_by_provider'
       end`
  },
  {
    // One that met a rule could wait for its exchange rate: that ends with its terms. Any other may have been delayed by an outage.
    invariant:
      'Nothing was delivered to an incoming payment after it expired, nor converted here after the terms of its payment ended.',
    count: 'select count(*) from transfer where incoming_payment_id is not null',
    violations: `
      select format('%s %s came at %s; incoming payment %s expires at %s', t.kind, t.id, t.ended_at, i.id, i.expires_at)
               as violation
        from transfer t join incoming_payment i on i.id = t.incoming_payment_id
       where t.ended_at > i.expires_at
      union all
      select format('%s %s of payment %s came at %s; its terms stood until %s', t.kind, t.id, p.id, t.ended_at, p.begin_until)
        from transfer t join outgoing_payment p on p.id = t.payment_id
       where t.kind = 'conversion'
         and t.ended_at >= p.begin_until + case when exists (select 1 from payment_approval a where a.payment_id = p.id) then interval '0'
                                                else ${String(PAID_AFTER_TERMS_MAX_MS)} * interval '1 millisecond' end`
  },
  {
    // Each instant was written independently of the others: by the client, the auth server and this service. A reservation
    // from before the database changed its timeline may be found again at any time after.
    invariant:
      'Every payment was signed, charged and persisted within one short time, and held as it was persisted.',
    count: 'select count(*) from outgoing_payment',
    values: () => [INSTANTS_APART_MAX_SECONDS],
    violations: `
      select format('outgoing payment %s was signed at %s, charged at %s and persisted at %s; its hold is of %s', p.id,
                    p.signed_at, p.charged_at, p.created_at, coalesce(p.held_at::text, 'no time')) as violation
        from (select o.id, o.created_at, r.charged_at, t.created_at as held_at,
                     to_timestamp(('x' || left(replace(o.signature_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) as signed_at,
                     $1::integer * interval '1 second' as apart
                from outgoing_payment o
                left join grant_reservation r on r.payment_id = o.id
                left join transfer t on t.id = o.id) p
       where p.held_at <> p.created_at
          or p.signed_at not between p.created_at - p.apart and p.created_at + p.apart
          or p.charged_at > p.created_at + p.apart
          or (p.charged_at < p.created_at - p.apart
              and not exists (select 1 from database_incarnation t join database_incarnation before
                                 on before.first_seen_at < t.first_seen_at
                               where t.first_seen_at between p.charged_at and p.created_at))`
  },
  {
    // An unusual number of ids given up by the sweeper indicates that the database lost payments that clients were told
    // exist.
    invariant:
      'Every outgoing payment has one entry among the outcomes, with the outcome that it had, and every id given up its cause.',
    count: `
      select sum(count) as count, string_agg(format('%s given up as %s', count, cause), ', ' order by cause) filter (where cause is not null) as told
        from (select given_up_cause as cause, count(*) from grant_reservation group by 1) by_cause`,
    violations: `
      select format('payment %s: %s with %s sent and %s delivered; its entry says %s of %s and %s',
                    coalesce(p.id, r.payment_id), coalesce(p.state::text, 'missing'), coalesce(p.settled_debit_value, 0),
                    coalesce(p.settled_receive_value, 0), coalesce(r.outcome, 'nothing'), coalesce(r.settled_debit_value, 0),
                    coalesce(r.settled_receive_value, 0)) as violation
        from outgoing_payment p
        full join grant_reservation r on r.payment_id = p.id
       where case
         when p.id is null then r.outcome is distinct from 'release' or r.given_up_cause is null
                                or num_nonnulls(r.quote_id, r.fee_value, r.charged_at, r.held) > 0
         when r.payment_id is null or r.given_up_cause is not null then true
         when p.state in ('pending', 'awaiting_approval') then r.outcome is not null
         when p.settled_debit_value = 0 then r.outcome is distinct from 'release'
         else (r.outcome, r.settled_debit_value, r.settled_receive_value)
              is distinct from ('settle', p.settled_debit_value, p.settled_receive_value)
       end`
  },
  ...REFUND_INVARIANTS,
  ...PEER_INVARIANTS,
  ...SENDING_INVARIANTS
]

/** Checks the ledger's own invariants, all in one snapshot: concurrent payments are seen completely or not at all. */
export async function checkLedger(dependencies: LedgerCheckDependencies): Promise<AuditCheck[]> {
  return readSnapshot(dependencies.patientDatabase, async (snapshot: Queries) => {
    const checks: AuditCheck[] = []
    for (const invariant of INVARIANTS) checks.push(await check(snapshot, invariant, dependencies))
    return checks
  })
}

async function check(
  snapshot: Queries,
  { invariant, count, violations, values }: LedgerInvariant,
  dependencies: LedgerCheckDependencies
): Promise<AuditCheck> {
  // What is compared joins and sums whole tables, which models cannot. `Prisma.raw` and "unsafe": the texts are constants of
  // this file, and only their values come from outside.
  const [counted] = await snapshot.$queryRaw<{ count: bigint; told: string | null }[]>(
    Prisma.sql`select coalesce(count, 0)::bigint as count, to_jsonb(counted) ->> 'told' as told from (${Prisma.raw(count)}) counted`
  )
  const rows = await snapshot.$queryRawUnsafe<{ violation: string }[]>(
    violations,
    ...(values?.(dependencies) ?? [])
  )
  const told = counted?.told ?? undefined
  return {
    invariant: told === undefined ? invariant : `${invariant} (${told})`,
    checkedCount: counted?.count ?? 0n,
    violations: tellViolations(rows.map(({ violation }) => violation))
  }
}
