-- Why a payment id was given up; null where there is a payment. Kept for good, as the ids are.
alter table grant_reservation
  add column given_up_cause text,
  add constraint grant_reservation_cause_known check (
    given_up_cause is null
    or (outcome = 'release'
        and given_up_cause in ('reservation_unknown', 'persist_failed', 'id_taken', 'receiver_not_payable', 'swept'))) not valid;
