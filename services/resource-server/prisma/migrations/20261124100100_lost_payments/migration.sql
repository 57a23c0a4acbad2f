-- An operator may give up a payment that a change of the timeline lost.
alter table grant_reservation
  drop constraint grant_reservation_cause_known,
  add constraint grant_reservation_cause_known check (
    given_up_cause is null
    or (outcome = 'release'
        and given_up_cause in ('reservation_unknown', 'persist_failed', 'id_taken', 'receiver_not_payable', 'swept', 'lost'))) not valid;
