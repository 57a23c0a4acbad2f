import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/**
 * Fragment: the part `progressed`, which counts what payments are known to have delivered while they are being sent, and what that cost: as
 * `settleSent` of the domain counts it in the end, if nothing else arrives. Takes `now`.
 *
 * @param deliveredInTotal selects what was delivered in total (`payment_id`, `value`); nothing new changes nothing
 */
export const progressed = (deliveredInTotal: Prisma.Sql): Prisma.Sql => Prisma.sql`
  progressed as (
    update outgoing_payment p
       set settled_receive_value = counted.value,
           settled_debit_value = p.fixed_fee_value
             + div((p.debit_value - p.fixed_fee_value) * counted.value + p.receive_value - 1, p.receive_value),
           updated_at = greatest(p.updated_at, ${placeholder('now')}::timestamptz)
      from (select o.id, least(delivered.value, div((o.debit_value - o.fixed_fee_value - 1) * o.receive_value,
                                                 o.debit_value - o.fixed_fee_value)) as value
              from (${deliveredInTotal}) delivered join outgoing_payment o on o.id = delivered.payment_id
             where delivered.value < o.receive_value) counted
     where p.id = counted.id and p.state::text = 'pending' and counted.value > p.settled_receive_value
    returning p.id, p.updated_at, p.settled_debit_value
  )`
