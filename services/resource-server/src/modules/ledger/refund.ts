import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'
import { AVAILABLE_THROUGHOUT } from './accounts.js'

/**
 * Fragment: the part `route`, where the money of the payment of the part `original` (`id`) came from and went to: the accounts of
 * payer and receiver with their assets, the incoming payment, and what of its debit was delivered (`net_value`) and taken as
 * a fee (`fee_value`). Empty if it delivered nothing. The part `party` (`id`, `available`) is both accounts, locked in the order
 * of their ids, with what each can spend: parts that read it come after the locks.
 */
export const refundRoute = Prisma.sql`
  route as materialized (
    select hold.debit_account_id as payer_account_id, hold.asset_id as payer_asset_id,
           received.credit_account_id as receiver_account_id, received.asset_id as receiver_asset_id,
           received.incoming_payment_id, delivery.posted_amount as net_value, coalesce(fee.posted_amount, 0) as fee_value
      from original
      join transfer hold on hold.id = original.id
      join transfer delivery on delivery.payment_id = original.id and delivery.kind = 'delivery'
      join lateral (
        -- Not by the index of all deliveries, however few there are when the plan is made.
        select * from transfer t where t.payment_id = original.id offset 0) received on received.incoming_payment_id is not null
      left join transfer fee on fee.payment_id = original.id and fee.kind = 'fee'
  ), party as (
    select id, ${AVAILABLE_THROUGHOUT} as available
      from account
     where id = any (array(select unnest(array[receiver_account_id, payer_account_id]) from route))
     order by id for no key update
  )`

/**
 * Fragment: moves the money of the refund of the part `refunding` (`id`, `value`, `returned_value`, `returned_fee_value`) along the
 * part `route` of {@link refundRoute}, in the other direction: from the receiver to the payer, through the exchange accounts if
 * their assets differ, and the returned fee from the provider's fees. Takes what {@link refundTransferIds} returns, and `now`.
 * A refund too small to be worth a unit of the payer's asset moves nothing there.
 */
export const refundPosted = Prisma.sql`
  movement as (
    select m.* from refunding f cross join route r
      join account source on source.asset_id = r.receiver_asset_id and source.kind = 'exchange'
      join account target on target.asset_id = r.payer_asset_id and target.kind = 'exchange'
      join account fees on fees.asset_id = r.payer_asset_id and fees.kind = 'fees'
     cross join lateral (values
       (f.id, 'refund', r.receiver_account_id, 'wallet',
        case when r.receiver_asset_id = r.payer_asset_id then r.payer_account_id else source.id end,
        case when r.receiver_asset_id = r.payer_asset_id then 'wallet' else 'exchange' end, r.receiver_asset_id, f.value),
       (${placeholder('conversionId')}::uuid, 'refund_conversion', target.id, 'exchange', r.payer_account_id, 'wallet',
        r.payer_asset_id, case when r.receiver_asset_id = r.payer_asset_id then 0 else f.returned_value end),
       (${placeholder('feeId')}::uuid, 'refund_fee', fees.id, 'fees', r.payer_account_id, 'wallet', r.payer_asset_id,
        f.returned_fee_value)
     ) as m (id, kind, debit_account_id, debit_account_kind, credit_account_id, credit_account_kind, asset_id, amount)
     where m.amount > 0
  ), moved as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, posted_amount, created_at, ended_at)
    select m.id, m.kind::transfer_kind, 'posted', f.id, m.debit_account_id, m.debit_account_kind::account_kind, m.credit_account_id,
           m.credit_account_kind::account_kind, m.asset_id, m.amount, m.amount, ${placeholder('now')}::timestamptz,
           ${placeholder('now')}::timestamptz
      from movement m cross join refunding f
  ), total as (
    update account a
       set debits_posted = a.debits_posted + case when a.id = r.receiver_account_id then f.value else 0 end,
           credits_posted = a.credits_posted
                            + case when a.id = r.payer_account_id then f.returned_value + f.returned_fee_value else 0 end
      from refunding f cross join route r
     where a.id = any (array(select id from party))
  )`

/**
 * The parameters of {@link refundPosted}, except `now`. The first transfer has the id of the refund.
 *
 * @param newId creates ids (UUID) of transfers
 */
export function refundTransferIds(newId: () => string): {
  readonly conversionId: string
  readonly feeId: string
} {
  return { conversionId: newId(), feeId: newId() }
}
