import { Prisma } from '../database.js'

/**
 * Fragment: opens the entries of payments. Reads the parts `placed` (`id`, `held`), the persisted payments, and whether there
 * is a hold for each, and `wanted` (`id`, `payable`, `quote_id`, `fee_value`, `charged_at`, `given_up_cause` if it is not payable, `payer_frozen` if that is why). The part
 * `refused` (`payment_id`) records the release of those that are not payable.
 *
 * If the id of a persisted payment was given up, which is rare, the primary key fails the whole statement, and nothing of
 * it is kept. The two parts never name the same id. Both write in the order of ids, to avoid deadlocks.
 */
export const opened = Prisma.sql`
  opened as (
    insert into grant_reservation (payment_id, quote_id, fee_value, charged_at, held)
    select id, quote_id, fee_value, charged_at, held from placed join wanted using (id) order by id
  ), refused as (
    insert into grant_reservation (payment_id, outcome, given_up_cause)
    select id, 'release', case when payer_frozen and given_up_cause = 'receiver_not_payable' then 'account_frozen' else given_up_cause end
      from wanted where not payable order by id
    on conflict do nothing
    returning payment_id
  )`

/**
 * Fragment: determines the outcomes of payments that end. Reads the part `ending` (`id`, `settled_debit_value`,
 * `settled_receive_value`). The part `reservation` (`held`, whether there was a hold for it) has a row for each that is determined.
 */
export const determined = Prisma.sql`
  reservation as (
    update grant_reservation r
       set outcome = case when e.settled_debit_value > 0 then 'settle' else 'release' end,
           settled_debit_value = nullif(e.settled_debit_value, 0),
           settled_receive_value = nullif(e.settled_receive_value, 0), outcome_since = now(), next_attempt_at = now()
      from ending e
     where r.payment_id = e.id and r.payment_id = any (array(select id from ending)) and r.outcome is null returning r.held
  )`
