import type { LedgerInvariant } from './ledger-invariant.js'

/** The kinds of transfers that belong to packets from peers and to them, and to settlements with them. */
export const PEER_TRANSFER_KINDS = `('receipt', 'receipt_conversion', 'dispatch', 'settlement_received', 'settlement_sent')`

/** The invariants of what came from peers, and of what was settled with them. */
export const PEER_INVARIANTS: readonly LedgerInvariant[] = [
  {
    invariant:
      'Every packet of a peer has exactly the transfers that its assets demand, from what the peer owes to the receiver.',
    count: 'select count(*) from received_packet',
    violations: `
      with expected as (
        select p.id as packet_id, e.kind::transfer_kind as kind, e.debit_account_id, e.credit_account_id, e.asset_id, e.amount,
               e.incoming_payment_id, p.received_at
          from received_packet p
          left join peer on peer.id = p.peer_id
          left join incoming_payment i on i.id = p.incoming_payment_id
          left join wallet_address w on w.id = i.wallet_address_id
          left join account r on r.id = w.account_id
          left join account source on source.asset_id = peer.asset_id and source.kind = 'exchange'
          left join account target on target.asset_id = r.asset_id and target.kind = 'exchange'
         cross join lateral (values
           ('receipt', peer.receivable_account_id, case when r.asset_id = peer.asset_id then r.id else source.id end, peer.asset_id,
            p.packet_value, case when r.asset_id = peer.asset_id then i.id end, true),
           ('receipt_conversion', target.id, r.id, r.asset_id, p.value, i.id, r.asset_id is distinct from peer.asset_id)
         ) as e (kind, debit_account_id, credit_account_id, asset_id, amount, incoming_payment_id, demanded)
         where e.demanded)
      select case
               when t.id is null then format('packet %s lacks its %s of %s', e.packet_id, e.kind, e.amount)
               when e.packet_id is null then format('%s %s of %s belongs to no packet that demands it (%s)', t.kind, t.id, t.amount,
                                                    t.payment_id)
               else format('%s %s of packet %s: %s, from %s to %s; its packet demands %s, from %s to %s', t.kind, t.id, t.payment_id,
                           t.posted_amount, t.debit_account_id, t.credit_account_id, e.amount,
                           coalesce(e.debit_account_id::text, 'none'), coalesce(e.credit_account_id::text, 'none'))
             end as violation
        from expected e
        full join (select * from transfer where kind in ('receipt', 'receipt_conversion')) t
          on t.payment_id = e.packet_id and t.kind = e.kind
       where t.id is null or e.packet_id is null
          or (t.state, t.debit_account_id, t.credit_account_id, t.asset_id, t.amount, t.posted_amount, t.incoming_payment_id, t.ended_at)
             is distinct from
             ('posted', e.debit_account_id, e.credit_account_id, e.asset_id, e.amount, e.amount, e.incoming_payment_id, e.received_at)
      union all
      select format('packet %s is of %s in the asset of its receiver, which received %s', p.id, p.packet_value, p.value)
        from received_packet p
        join peer on peer.id = p.peer_id
        join transfer t on t.payment_id = p.id and t.kind = 'receipt' and t.incoming_payment_id is not null
       where p.packet_value <> p.value
      union all
      select format('the receipt of packet %s has the id %s', payment_id, id) from transfer where kind = 'receipt' and id <> payment_id
      union all
      select format('packet %s has the fulfillment of another one', id) from received_packet where sha256(fulfillment) <> condition
      union all
      select format('%s packets have the condition %s', count(*), encode(condition, 'hex'))
        from received_packet group by condition having count(*) > 1`
  },
  {
    invariant:
      'Every settlement with a peer has exactly its transfer, between what is owed and the world outside.',
    count: 'select count(*) from peer_settlement',
    violations: `
      with expected as (
        select s.id, ('settlement_' || s.direction)::transfer_kind as kind, s.value, s.created_at, peer.asset_id,
               case s.direction when 'received' then outside.id else peer.payable_account_id end as debit_account_id,
               case s.direction when 'received' then peer.receivable_account_id else outside.id end as credit_account_id
          from peer_settlement s
          left join peer on peer.id = s.peer_id
          left join account outside on outside.asset_id = peer.asset_id and outside.kind = 'outside')
      select case
               when t.id is null then format('settlement %s lacks its transfer of %s', e.id, e.value)
               when e.id is null then format('%s %s of %s belongs to no settlement', t.kind, t.id, t.amount)
               else format('settlement %s of %s: its transfer is a %s of %s, from %s to %s', e.id, e.value, t.kind, t.posted_amount,
                           t.debit_account_id, t.credit_account_id)
             end as violation
        from expected e
        full join (select * from transfer where kind in ('settlement_received', 'settlement_sent')) t on t.id = e.id
       where t.id is null or e.id is null
          or (t.kind, t.state, t.payment_id, t.debit_account_id, t.credit_account_id, t.asset_id, t.amount, t.posted_amount, t.ended_at)
             is distinct from
             (e.kind, 'posted', e.id, e.debit_account_id, e.credit_account_id, e.asset_id, e.value, e.value, e.created_at)`
  },
  {
    invariant: 'Every day of a peer that is over ended with what it began with, and what was booked on it.',
    count: 'select count(*) from peer_day',
    violations: `
      with booked as (
        select p.id as peer_id, date_trunc('day', t.created_at, 'UTC') + interval '24 hours' as ended_at,
               coalesce(sum(t.value) filter (where a.is_receivable), 0) as receivable_value,
               coalesce(-sum(t.value) filter (where not a.is_receivable), 0) as payable_value
          from peer p
         cross join lateral (values (p.receivable_account_id, true), (p.payable_account_id, false)) as a (id, is_receivable)
         cross join lateral (
           select posted_amount as value, created_at from transfer where debit_account_id = a.id
           union all
           select -posted_amount, created_at from transfer where credit_account_id = a.id) t
         group by 1, 2
      ), closed as (
        select peer_id, ended_at, receivable_value - coalesce(lag(receivable_value) over peer_days, 0) as receivable_value,
               payable_value - coalesce(lag(payable_value) over peer_days, 0) as payable_value
          from peer_day window peer_days as (partition by peer_id order by ended_at))
      select format('peer %s, day that ended at %s: what it owes changed by %s, and what it is owed by %s; booked is %s and %s',
                    p.name, coalesce(c.ended_at, b.ended_at), coalesce(c.receivable_value::text, 'nothing that was kept'),
                    coalesce(c.payable_value::text, 'nothing that was kept'),
                    coalesce(b.receivable_value, 0), coalesce(b.payable_value, 0)) as violation
        from closed c
        full join booked b on b.peer_id = c.peer_id and b.ended_at = c.ended_at
        join peer p on p.id = coalesce(c.peer_id, b.peer_id)
       where (c.receivable_value, c.payable_value) is distinct from (coalesce(b.receivable_value, 0), coalesce(b.payable_value, 0))
         and (c.peer_id is not null or b.ended_at < (select max(d.ended_at) from peer_day d where d.peer_id = b.peer_id))`
  },
  {
    invariant: 'Every peer has its two accounts, in its asset, and no other has them.',
    count: 'select count(*) from peer',
    violations: `
      select format('peer %s has the accounts %s (%s) and %s (%s)', p.name, p.receivable_account_id, coalesce(r.kind::text, 'missing'),
                    p.payable_account_id, coalesce(y.kind::text, 'missing')) as violation
        from peer p
        left join account r on r.id = p.receivable_account_id
        left join account y on y.id = p.payable_account_id
       where (r.kind, y.kind, r.asset_id, y.asset_id)
             is distinct from ('peer_receivable'::account_kind, 'peer_payable'::account_kind, p.asset_id, p.asset_id)
      union all
      select format('the %s account %s is that of no peer', a.kind, a.id)
        from account a left join peer p on a.id in (p.receivable_account_id, p.payable_account_id)
       where a.kind in ('peer_receivable', 'peer_payable') and p.id is null`
  }
]
