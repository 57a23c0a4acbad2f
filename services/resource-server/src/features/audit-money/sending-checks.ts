import { PAID_AFTER_TERMS_MAX_MS } from '../../domain/outgoing-payment.js'
import type { LedgerInvariant } from './ledger-invariant.js'

/**
 * How far the instants of one payment may be off, in seconds: clocks of replicas differ, and a packet is written down before it is looked
 * whether it is still in time, for as long as a lease lasts.
 */
const APART_MAX_SECONDS = 60

/** The invariants of what was sent to peers. */
export const SENDING_INVARIANTS: readonly LedgerInvariant[] = [
  {
    invariant:
      'Every packet that a peer fulfilled has exactly its transfer to what is owed to the peer, and its proof.',
    count: 'select count(*) from sent_packet',
    violations: `
      with expected as (
        select p.id, p.send_value, p.answered_at, exchange.id as exchange_id, peer.payable_account_id, peer.asset_id
          from sent_packet p
          left join peer on peer.id = p.peer_id
          left join account exchange on exchange.asset_id = peer.asset_id and exchange.kind = 'exchange'
         where p.outcome = 'fulfilled')
      select case
               when t.id is null then format('packet %s lacks its dispatch of %s', e.id, e.send_value)
               when e.id is null then format('dispatch %s of %s belongs to no packet that was fulfilled', t.id, t.amount)
               else format('packet %s of %s: its dispatch is of %s, from %s to %s', e.id, e.send_value, t.posted_amount,
                           t.debit_account_id, t.credit_account_id)
             end as violation
        from expected e
        full join (select * from transfer where kind::text = 'dispatch') t on t.id = e.id
       where t.id is null or e.id is null
          or (t.payment_id, t.state, t.debit_account_id, t.credit_account_id, t.asset_id, t.amount, t.posted_amount, t.ended_at)
             is distinct from
             (e.id, 'posted', e.exchange_id, e.payable_account_id, e.asset_id, e.send_value, e.send_value, e.answered_at)
      union all
      select case when fulfillment is null then format('packet %s was fulfilled without a proof, and nobody decided it', id)
                  else format('packet %s has the fulfillment of another one', id) end
        from sent_packet
       where outcome = 'fulfilled' and (fulfillment is not null or decided_by is null)
         and sha256(fulfillment) is distinct from condition
      union all
      select format('%s packets have the condition %s', count(*), encode(condition, 'hex'))
        from sent_packet group by condition having count(*) > 1`
  },
  {
    // By the rule in domain/settlement.ts: a payment whose delivered part costs its whole debit, rounded up, is completed. The
    // fixed part of the fee is not shared.
    invariant:
      'No payment sent more than its terms allow, nor more than they allow for what was delivered, and every one that was sent elsewhere is what was delivered of it.',
    count: 'select count(*) from outgoing_payment where peer_id is not null',
    violations: `
      select format('payment %s: %s with %s received; %s of %s was or may have been sent, %s of %s was delivered', s.id,
                    coalesce(s.failure_reason::text, s.state::text), s.settled_receive_value, s.sent, s.send_max_value, s.delivered,
                    s.receive_value) as violation
        from (select p.id, p.state, p.failure_reason, p.debit_value - p.fixed_fee_value as shared_value, p.receive_value, p.settled_receive_value, p.send_max_value,
                     coalesce(sent.value, 0) as sent, coalesce(sent.fulfilled, 0) as fulfilled, coalesce(sent.delivered, 0) as delivered, coalesce(sent.unknown, 0) as unknown, coalesce(sent.stood_in, 0) as stood_in,
                     coalesce(sent.elsewhere, 0) as elsewhere
                from outgoing_payment p
                left join (select k.payment_id, sum(k.send_value) filter (where k.outcome <> 'rejected') as value,
                                  sum(k.send_value) filter (where k.outcome = 'fulfilled') as fulfilled, sum(k.delivered_value) as delivered, count(*) filter (where k.outcome = 'unknown') as unknown,
                                  sum(k.send_value) filter (where k.outcome = 'unknown' and k.is_stand_in) as stood_in,
                                  count(*) filter (where k.peer_id is distinct from o.peer_id) as elsewhere
                             from sent_packet k join outgoing_payment o on o.id = k.payment_id group by k.payment_id) sent
                  on sent.payment_id = p.id
               where p.peer_id is not null or sent.payment_id is not null) s
       where s.sent > coalesce(s.send_max_value, 0) or s.elsewhere > 0
          or s.fulfilled * s.receive_value > s.delivered * coalesce(s.send_max_value, 0)
          or case s.state
               when 'completed' then s.unknown > 0 or s.shared_value * s.delivered <= (s.shared_value - 1) * s.receive_value
               when 'failed' then s.unknown > 0 or s.shared_value * s.delivered > (s.shared_value - 1) * s.receive_value
                 or s.settled_receive_value <> s.delivered
               when 'awaiting_approval' then s.sent > s.stood_in
               else false end`
  },
  {
    // A packet that was rejected moved nothing, and may never have been sent. One that stands for others was written down afterwards.
    invariant: 'Nothing was sent before its payment was approved, nor later than it may be sent.',
    count: `select count(*) from sent_packet where outcome <> 'rejected' and not is_stand_in`,
    values: () => [APART_MAX_SECONDS, PAID_AFTER_TERMS_MAX_MS],
    violations: `
      select format('packet %s of payment %s was sent at %s; approved at %s, and its terms stood until %s', k.id, p.id, k.sent_at,
                    coalesce(a.decided_at::text, 'no time'), p.begin_until) as violation
        from sent_packet k
        join outgoing_payment p on p.id = k.payment_id
        left join payment_approval a on a.payment_id = p.id
       where k.outcome <> 'rejected' and not k.is_stand_in
         and (k.sent_at < a.decided_at - $1::integer * interval '1 second'
              or k.sent_at > p.begin_until + $2::integer * interval '1 millisecond' + $1::integer * interval '1 second')`
  },
  {
    invariant:
      'Every payment that is being sent is pending and holds what may still be sent, and no other has sent anything yet.',
    count: 'select count(*) from sending',
    violations: `
      select format('payment %s is %s, holds %s, and has sent %s of %s', p.id, p.state, coalesce(s.held_value::text, 'nothing'),
                    coalesce(sent.value, 0), p.send_max_value) as violation
        from outgoing_payment p
        left join sending s on s.payment_id = p.id
        left join (select payment_id, sum(send_value) as value from sent_packet where outcome = 'fulfilled' group by payment_id) sent
          on sent.payment_id = p.id
       where case
         when s.payment_id is null then p.state in ('pending', 'awaiting_approval')
                                        and exists (select 1 from sent_packet k where k.payment_id = p.id)
         else not (p.state = 'pending' or (p.state = 'awaiting_approval'
                                           and exists (select 1 from sent_packet k where k.payment_id = p.id and k.is_stand_in)))
              or s.peer_id is distinct from p.peer_id
              or s.held_value is distinct from p.send_max_value - coalesce(sent.value, 0) end`
  }
]
