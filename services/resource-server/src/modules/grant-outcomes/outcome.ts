import { Prisma } from '../database.js'

/**
 * Fragment: opens the places of payments. Reads the parts `placed` (`id`), those that are persisted, and `wanted` (`id`,
 * `payable`, `quote_id`, `fee_value`). The part `refused` (`payment_id`) records the release of those that are not payable.
 *
 * A persisted payment whose id was given up, which is rare, breaks the primary key, and with it the statement: none of it is
 * kept. The two parts never name the same id. Both go by the order of ids, so that nobody waits in a circle.
 */
export const opened = Prisma.sql`
  opened as (
    insert into grant_reservation (payment_id, quote_id, fee_value)
    select id, quote_id, fee_value from placed join wanted using (id) order by id
  ), refused as (
    insert into grant_reservation (payment_id, outcome, given_up_cause)
    select id, 'release', 'receiver_not_payable' from wanted where not payable order by id
    on conflict do nothing
    returning payment_id
  )`

/**
 * Fragment: determines the outcomes of payments that end. Reads the part `ending` (`id`, `sent`, `delivered`); counted as
 * `reservations`.
 */
export const determined = Prisma.sql`
  reservation as (
    update grant_reservation r
       set outcome = case when e.sent > 0 then 'settle' else 'release' end,
           debited_value = nullif(e.sent, 0), received_value = nullif(e.delivered, 0), outcome_since = now(),
           next_attempt_at = now()
      from ending e
     where r.payment_id = e.id and r.payment_id = any (array(select id from ending)) and r.outcome is null returning 1
  )`
