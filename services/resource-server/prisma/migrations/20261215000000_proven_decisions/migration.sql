-- An operator who decides that a packet arrived may have the peer's proof of that. Not validated: every row was checked by the narrower constraint
-- that it replaces.
alter table sent_packet drop constraint sent_packet_outcome_is_true;
alter table sent_packet add constraint sent_packet_outcome_is_true check (
  case outcome
    when 'unknown' then answered_at is null and delivered_value is null and fulfillment is null and code is null and decided_by is null
    when 'fulfilled' then answered_at is not null and delivered_value is not null and code is null
                          and (fulfillment is not null or decided_by is not null)
    when 'rejected' then answered_at is not null and delivered_value is null and fulfillment is null
    else false
  end) not valid;
