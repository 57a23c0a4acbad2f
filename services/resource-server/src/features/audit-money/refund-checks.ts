import { type LedgerInvariant, receiverPrefix } from './ledger-invariant.js'

/** What of the debit of a payment was debited for what it delivered, and what of that without the fee: as in the ledger's checks. */
const sent = (p: string): string =>
  `div(${p}.debit_value * ${p}.settled_receive_value + ${p}.receive_value - 1, ${p}.receive_value)`
const net = (p: string): string =>
  `div((${p}.debit_value - ${p}.fee_value) * ${p}.settled_receive_value + ${p}.receive_value - 1, ${p}.receive_value)`

/**
 * Every refund `f` with its payment `p`, whose payer and receiver have the accounts `s` and `r`, and with the payment `q` that makes
 * it, if a client's payment does. What the provider returns of an amount is what falls on all its refunds up to this one, rounded
 * down, less what fell on those before.
 */
const REFUNDED = `refunded as (
        select f.*, p.id as original_id, p.receiver as original_receiver, p.wallet_address_id as payer_id,
               i.wallet_address_id as receiver_id, p.settled_receive_value as delivered, s.id as payer_account_id,
               s.asset_id as payer_asset_id, r.id as receiver_account_id, r.asset_id as receiver_asset_id,
               div((f.from_value + f.value) * ${net('p')}, nullif(p.settled_receive_value, 0))
                 - div(f.from_value * ${net('p')}, nullif(p.settled_receive_value, 0)) as due,
               case when f.returns_fee then
                 div((f.from_value + f.value) * (${sent('p')} - ${net('p')}), nullif(p.settled_receive_value, 0))
                   - div(f.from_value * (${sent('p')} - ${net('p')}), nullif(p.settled_receive_value, 0)) else 0 end as fee_due,
               coalesce(sum(f.value) over (partition by f.refund_of, f.payment_id is null order by f.from_value
                                           rows between unbounded preceding and 1 preceding), 0) as before,
               q.id as making_id, q.refund_of as making_refund_of, q.wallet_address_id as making_wallet_address_id,
               q.receiver as making_receiver, q.state::text as making_state, q.debit_value - q.fee_value as making_value,
               ${net('q')} as making_net, q.settled_receive_value as making_returned, b.wallet_address_id as returned_to_id
          from refund f
          left join outgoing_payment p on p.id = f.refund_of
          left join wallet_address pw on pw.id = p.wallet_address_id
          left join account s on s.id = pw.account_id
          left join incoming_payment i on i.id = f.incoming_payment_id
          left join wallet_address rw on rw.id = i.wallet_address_id
          left join account r on r.id = rw.account_id
          left join outgoing_payment q on q.id = f.payment_id
          left join incoming_payment b on b.id = f.returned_to)`

/** The invariants of refunds. */
export const REFUND_INVARIANTS: readonly LedgerInvariant[] = [
  {
    invariant:
      'Every refund gives back a part of what its payment delivered, at its rate, from its receiver to its payer.',
    count: 'select count(*) from refund',
    values: receiverPrefix,
    violations: `
      with ${REFUNDED}
      select format('refund %s of payment %s: %s', f.id, f.refund_of, concat_ws('; ',
               case when f.parties_differ then 'it is not between the receiver and the payer of its payment' end,
               case when f.rate_differs then
                 format('it took %s from %s on and returned %s, and %s of the fee; its payment demands from %s on, %s and %s',
                        f.value, f.from_value, f.returned_value, f.returned_fee_value, f.before, f.due, f.fee_due) end,
               case when f.payment_differs then
                 format('it is %s with %s of %s taken and %s returned, and its own payment is %s with %s of %s and %s', f.state,
                        coalesce(f.settled_value, 0), f.value, coalesce(f.returned_value, 0), coalesce(f.making_state, 'missing'),
                        f.making_net, f.making_value, f.making_returned) end)) as violation
        from (select refunded.*,
                     (original_id, original_receiver, asset_id, returned_asset_id)
                       is distinct from (refund_of, $1::text || incoming_payment_id, receiver_asset_id, payer_asset_id)
                     as parties_differ,
                     payment_id is null
                     and (state, settled_value, from_value, returned_value, returned_fee_value)
                         is distinct from ('completed', value, before, due, fee_due) as rate_differs,
                     payment_id is not null
                     and ((making_id, making_refund_of, making_wallet_address_id, making_receiver, making_value, returned_to_id)
                            is distinct from (id, refund_of, receiver_id, $1::text || returned_to, value, payer_id)
                          or (making_state in ('pending', 'awaiting_approval')) <> (state = 'pending')
                          or state <> 'pending'
                             and (settled_value, returned_value) is distinct from (making_net, making_returned)
                          or (state = 'failed') <> (settled_value is not distinct from 0)) as payment_differs
                from refunded) f
       where f.parties_differ or f.rate_differs or f.payment_differs
      union all
      select format('payment %s refunds %s, and there is no such refund', q.id, q.refund_of)
        from outgoing_payment q left join refund f on f.id = q.id and f.payment_id = q.id
       where q.refund_of is not null and f.id is null`
  },
  {
    invariant: 'No payment was refunded more than it delivered, and each counts exactly its refunds.',
    count: 'select count(*) from outgoing_payment where refunded_value > 0',
    violations: `
      select format('payment %s: delivered %s and counts %s refunded, %s of them by the provider; its refunds are of %s and %s', p.id,
                    p.settled_receive_value, p.refunded_value, p.provider_refunded_value, coalesce(f.taken, 0),
                    coalesce(f.taken_by_provider, 0)) as violation
        from outgoing_payment p
        left join (select refund_of, sum(coalesce(settled_value, value)) as taken,
                          sum(value) filter (where payment_id is null) as taken_by_provider
                     from refund group by refund_of) f on f.refund_of = p.id
       where (p.refunded_value, p.provider_refunded_value) <> (coalesce(f.taken, 0), coalesce(f.taken_by_provider, 0))
          or coalesce(f.taken, 0) > p.settled_receive_value`
  },
  {
    invariant:
      'Every refund of the provider has exactly the transfers that its amounts demand, between the right accounts.',
    count: `select count(*) from transfer where kind in ('refund', 'refund_conversion', 'refund_fee')`,
    violations: `
      with ${REFUNDED}, expected as (
        select f.id as refund_id, e.kind::transfer_kind as kind, e.debit_account_id, e.credit_account_id, e.asset_id, e.amount,
               f.created_at
          from refunded f
          left join account fees on fees.asset_id = f.payer_asset_id and fees.kind = 'fees'
          left join account source on source.asset_id = f.receiver_asset_id and source.kind = 'exchange'
          left join account target on target.asset_id = f.payer_asset_id and target.kind = 'exchange'
         cross join lateral (values
           ('refund', f.receiver_account_id,
            case when f.receiver_asset_id = f.payer_asset_id then f.payer_account_id else source.id end, f.receiver_asset_id, f.value),
           ('refund_conversion', target.id, f.payer_account_id, f.payer_asset_id,
            case when f.receiver_asset_id = f.payer_asset_id then 0 else f.returned_value end),
           ('refund_fee', fees.id, f.payer_account_id, f.payer_asset_id, f.returned_fee_value)
         ) as e (kind, debit_account_id, credit_account_id, asset_id, amount)
         where f.payment_id is null and e.amount > 0)
      select case
               when t.id is null then format('refund %s lacks its %s of %s', e.refund_id, e.kind, e.amount)
               when e.refund_id is null then format('%s %s of %s belongs to no refund that demands it (%s)', t.kind, t.id, t.amount,
                                                    t.payment_id)
               else format('%s %s of refund %s: %s, from %s to %s; its refund demands %s, from %s to %s', t.kind, t.id, t.payment_id,
                           t.posted_amount, t.debit_account_id, t.credit_account_id, e.amount,
                           coalesce(e.debit_account_id::text, 'none'), coalesce(e.credit_account_id::text, 'none'))
             end as violation
        from expected e
        full join (select * from transfer where kind in ('refund', 'refund_conversion', 'refund_fee')) t
          on t.payment_id = e.refund_id and t.kind = e.kind
       where t.id is null or e.refund_id is null
          or (t.state, t.debit_account_id, t.credit_account_id, t.asset_id, t.amount, t.posted_amount, t.ended_at)
             is distinct from
             ('posted', e.debit_account_id, e.credit_account_id, e.asset_id, e.amount, e.amount, e.created_at)
      union all
      select format('the refund of %s has the id %s', payment_id, id) from transfer where kind = 'refund' and id <> payment_id`
  }
]
