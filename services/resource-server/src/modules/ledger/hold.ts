import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'
import { AVAILABLE_THROUGHOUT } from './accounts.js'

/**
 * Fragment: holds the debits of payments whose senders have the money, with the same result as if each had come alone.
 * Reads the part `holdable` (`id` of the payment, `account_id` of its sender, `debit_value`), and takes `now`. The part
 * `covered` (`id`) names those that are held. Parts that must come after the locks of accounts read it.
 * - An account's rows are locked before its money is counted: "for no key update" reads the latest commit, while the rest
 *   of the statement sees its snapshot. The update that follows adds to that same row. The smallest payments come first, so
 *   that one that the account cannot cover does not take money from those that it can.
 * - Accounts are locked in the order of their ids. "array" makes the database evaluate all of `holdable` before it locks
 *   the first account.
 */
export const held = Prisma.sql`
  sender as (
    select id, asset_id, ${AVAILABLE_THROUGHOUT} as available
      from account
     where id = any (array(select account_id from holdable))
     order by id for no key update
  ), covered as (
    select counted.id, counted.debit_value, sender.id as debit_account_id, clearing.id as credit_account_id, sender.asset_id
      from (select id, account_id, debit_value,
                   sum(debit_value) over (partition by account_id order by debit_value, id) as with_smaller
              from holdable) counted
      join sender on sender.id = counted.account_id and counted.with_smaller <= sender.available
      join account clearing on clearing.asset_id = sender.asset_id and clearing.kind = 'clearing'
  ), hold_totals as (
    update account a set debits_pending = a.debits_pending + total.held
      from (select debit_account_id as id, sum(debit_value) as held from covered group by debit_account_id) total
     where a.id = total.id
  ), hold as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, created_at)
    select id, 'payment', 'pending', id, debit_account_id, 'wallet', credit_account_id, 'clearing', asset_id, debit_value,
           ${placeholder('now')}::timestamptz
      from covered
  )`

/**
 * Fragment: joins the pending hold `hold` (`id`) of a payment, if there is one.
 *
 * @param paymentId names the payment's id
 */
export function holdOf(paymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`left join transfer hold on hold.id = ${paymentId} and hold.state = 'pending'`
}
