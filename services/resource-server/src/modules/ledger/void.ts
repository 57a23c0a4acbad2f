import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/**
 * Fragment: ends the holds of payments that send nothing, returning all of them. Takes `now`. The part `hold` has a row for each hold
 * that ended, and `total` one for each account that got its holds back.
 *
 * Accounts are locked in the order of their ids before the first is changed. "array" makes the database end all holds before that.
 *
 * @param paymentIds an array of the payments' ids; the expression is evaluated before the first lock
 */
export const voided = (paymentIds: Prisma.Sql): Prisma.Sql => Prisma.sql`
  hold as (
    update transfer t set state = 'voided', ended_at = ${placeholder('now')}::timestamptz
     where t.id = any (${paymentIds}) and t.state = 'pending'
    returning t.debit_account_id, t.amount
  ), locked as (
    select id from account where id = any (array(select debit_account_id from hold)) order by id for no key update
  ), total as (
    update account a set debits_pending = a.debits_pending - returned.value
      from (select debit_account_id as id, sum(amount) as value from hold group by debit_account_id) returned
     where a.id = returned.id and a.id = any (array(select id from locked))
    returning a.id
  )`
