import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/**
 * Fragment: the part `payment`, which makes those payments of the part `deciding` (`payment_id`) pending that still await approval,
 * with the new values of each. One that may have been sent before, which was lost, goes on among those that are being sent. Takes `now`.
 */
export const approved = Prisma.sql`
  payment as (
    update outgoing_payment p
       set state = 'pending', updated_at = greatest(p.updated_at, ${placeholder('now')}::timestamptz)
     where p.id = any (array(select payment_id from deciding)) and p.state::text = 'awaiting_approval'
    returning p.id, p.state, p.updated_at
  ), sent_on as (
    update sending set due_at = ${placeholder('now')}::timestamptz where payment_id = any (array(select id from payment))
  )`

/**
 * Fragment: the part `ending` (`id`, `settled_debit_value`, `settled_receive_value`), the payments of the part `deciding`
 * (`payment_id`), and the part `payment`, which ends those that still await approval, declined, with the new values of each. Takes
 * `now`.
 */
export const declined = Prisma.sql`
  ending as (
    select payment_id as id, 0::numeric as settled_debit_value, 0::numeric as settled_receive_value from deciding
  ), payment as (
    update outgoing_payment p
       set state = 'failed', failure_reason = 'declined_by_provider',
           updated_at = greatest(p.updated_at, ${placeholder('now')}::timestamptz)
     where p.id = any (array(select id from ending)) and p.state::text = 'awaiting_approval'
    returning p.id, p.state, p.failure_reason, p.settled_debit_value, p.updated_at, p.refund_of
  ), unsent as (
    delete from sending where payment_id = any (array(select id from payment))
  )`

/**
 * Fragment: selects which incoming payments each wallet address has paid (`wallet_address_id`, `incoming_payment_id`). Takes
 * `receivers`, the prefix of their URLs, before their ids. Reads all payments.
 */
export const deliveries = Prisma.sql`
  select p.wallet_address_id, substring(p.receiver from length(${placeholder('receivers')}::text) + 1)::uuid as incoming_payment_id
    from outgoing_payment p
   where p.settled_receive_value > 0 and starts_with(p.receiver, ${placeholder('receivers')}::text)`
