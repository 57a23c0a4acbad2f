-- The terms of a payment end also where its receiver is hosted here, if they have an exchange rate. Not validated: every row was checked by the
-- narrower constraint that it replaces.
alter table outgoing_payment drop constraint outgoing_payment_is_sent_whole;
alter table outgoing_payment add constraint outgoing_payment_is_sent_whole check (
  (peer_id is null) = (send_max_value is null) and (peer_id is null or begin_until is not null) and send_max_value > 0) not valid;
