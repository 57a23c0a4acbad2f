import { readSnapshot } from '@open-payments-server/database'
import { type AuditCheck, tellViolations } from '../../domain/audit.js'
import { type Database, Prisma, type Queries } from '../../modules/database.js'

/** An invariant of the ledger as a question to the database: how many rows there are, and which ones violate it. */
interface LedgerInvariant {
  readonly invariant: string
  /** Answers one number, `count`. */
  readonly count: string
  /** Answers one sentence for each violation, `violation`. */
  readonly violations: string
}

const INVARIANTS: readonly LedgerInvariant[] = [
  {
    // From the totals of wallets and the entries of the provider's accounts: entries alone balance by their shape.
    invariant: 'In every asset, what wallets hold and what the provider holds add up to nothing.',
    count: 'select count(*) from asset',
    violations: `
      select format('asset %s with scale %s: wallets hold %s, the provider %s', s.code, s.scale, w.held, p.held) as violation
        from asset s
        left join lateral (
          select coalesce(sum(credits_posted - debits_posted), 0) as held
            from account where asset_id = s.id and kind = 'wallet') w on true
        left join lateral (
          select coalesce(sum(case l.side when 'credit' then l.amount else -l.amount end), 0) as held
            from ledger_entry l join account a on a.id = l.account_id
           where a.asset_id = s.id and a.kind <> 'wallet') p on true
       where w.held + p.held <> 0`
  },
  {
    invariant:
      'Every wallet account has the totals that its entries and holds add up to, and is not overdrawn.',
    count: `select count(*) from account where kind = 'wallet'`,
    violations: `
      select format('account %s: posted debits %s, credits %s, held %s; its entries add up to %s, %s, %s', a.name,
                    a.debits_posted, a.credits_posted, a.debits_pending, d.posted, c.posted, d.pending) as violation
        from account a
        left join lateral (
          select coalesce(sum(posted_amount), 0) as posted,
                 coalesce(sum(amount) filter (where state = 'pending'), 0) as pending
            from transfer where debit_account_id = a.id) d on true
        left join lateral (
          select coalesce(sum(posted_amount), 0) as posted from transfer where credit_account_id = a.id) c on true
       where a.kind = 'wallet'
         and ((a.debits_posted, a.credits_posted, a.debits_pending) <> (d.posted, c.posted, d.pending)
              or a.credits_posted - a.debits_posted - a.debits_pending < 0)`
  },
  {
    invariant: 'Clearing is empty in every asset: whatever a payment brought in went out with it.',
    count: `select count(*) from account where kind = 'clearing'`,
    violations: `
      select format('clearing of %s with scale %s holds %s', s.code, s.scale, e.balance) as violation
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
    invariant:
      'Every outgoing payment has sent what its hold was posted with, and delivered what its receiver got.',
    count: 'select count(*) from outgoing_payment',
    violations: `
      select format('outgoing payment %s: sent %s, delivered %s; posted %s, of which %s left clearing, and %s arrived', p.id,
                    p.sent_value, p.delivered_value, t.posted, t.cleared, t.arrived) as violation
        from outgoing_payment p
        left join lateral (
          select coalesce(sum(posted_amount) filter (where kind = 'payment'), 0) as posted,
                 coalesce(sum(posted_amount) filter (where kind in ('fee', 'delivery')), 0) as cleared,
                 coalesce(sum(posted_amount) filter (where incoming_payment_id is not null), 0) as arrived
            from transfer where payment_id = p.id) t on true
       where (p.sent_value, p.sent_value, p.delivered_value) <> (t.posted, t.cleared, t.arrived)`
  },
  {
    invariant: 'Every payment takes from its own wallet and gives to that of its receiver, in time.',
    count: `select count(*) from transfer where kind = 'payment' or incoming_payment_id is not null`,
    violations: `
      select format('%s %s takes from account %s, and its payment belongs to %s', t.kind, t.id, t.debit_account_id,
                    coalesce(w.account_id::text, 'none')) as violation
        from transfer t
        left join outgoing_payment p on p.id = t.payment_id
        left join wallet_address w on w.id = p.wallet_address_id
       where t.kind = 'payment' and t.debit_account_id is distinct from w.account_id
      union all
      select format('%s %s gives to account %s at %s; incoming payment %s belongs to %s and expires at %s', t.kind, t.id,
                    t.credit_account_id, t.ended_at, t.incoming_payment_id, coalesce(w.account_id::text, 'none'), i.expires_at)
        from transfer t
        left join incoming_payment i on i.id = t.incoming_payment_id
        left join wallet_address w on w.id = i.wallet_address_id
       where t.incoming_payment_id is not null and t.state = 'posted'
         and (t.credit_account_id is distinct from w.account_id or t.ended_at > i.expires_at)`
  },
  {
    invariant: 'Every hold belongs to a pending payment and holds its debit.',
    count: `select count(*) from transfer where state = 'pending'`,
    violations: `
      select format('hold %s of %s: its payment is %s with debit %s', t.id, t.amount, coalesce(p.state::text, 'missing'),
                    coalesce(p.debit_value, 0)) as violation
        from transfer t
        left join outgoing_payment p on p.id = t.id
       where t.state = 'pending'
         and (t.kind, t.payment_id, t.amount, 'pending') is distinct from ('payment', p.id, p.debit_value, p.state)`
  },
  {
    invariant: 'Every outgoing payment has one place in the outbox, with the outcome that it had.',
    count: 'select count(*) from grant_reservation',
    violations: `
      select format('payment %s: %s with %s sent and %s delivered; the outbox says %s of %s and %s',
                    coalesce(p.id, r.payment_id), coalesce(p.state::text, 'missing'), coalesce(p.sent_value, 0),
                    coalesce(p.delivered_value, 0), coalesce(r.outcome, 'nothing'), coalesce(r.debited_value, 0),
                    coalesce(r.received_value, 0)) as violation
        from outgoing_payment p
        full join grant_reservation r on r.payment_id = p.id
       where case
         when p.id is null then r.outcome is distinct from 'release'
         when r.payment_id is null then true
         when p.state = 'pending' then r.outcome is not null
         when p.sent_value = 0 then r.outcome is distinct from 'release'
         else (r.outcome, r.debited_value, r.received_value)
              is distinct from ('settle', p.sent_value, p.delivered_value)
       end`
  }
]

/**
 * Checks what the ledger must hold by itself, all of it in one snapshot: payments that go on meanwhile are seen whole or
 * not at all.
 */
export async function checkLedger(database: Database): Promise<AuditCheck[]> {
  return readSnapshot(database, async (snapshot: Queries) => {
    const checks: AuditCheck[] = []
    for (const invariant of INVARIANTS) checks.push(await check(snapshot, invariant))
    return checks
  })
}

async function check(
  snapshot: Queries,
  { invariant, count, violations }: LedgerInvariant
): Promise<AuditCheck> {
  const [counted] = await snapshot.$queryRaw<{ count: bigint }[]>(Prisma.raw(count))
  const rows = await snapshot.$queryRaw<{ violation: string }[]>(Prisma.raw(violations))
  return {
    invariant,
    checkedCount: counted?.count ?? 0n,
    violations: tellViolations(rows.map(({ violation }) => violation))
  }
}
