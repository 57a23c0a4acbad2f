-- Of what is paid at another provider: the part of the fee that is paid whole as soon as anything is delivered. The rest is shared. 0 for what an
-- earlier version writes, and where the receiver is hosted here.
alter table quote
  add column fixed_fee_value numeric(20, 0) not null default 0,
  add constraint quote_fixed_fee_is_part_of_fee check (fixed_fee_value between 0 and fee_value) not valid;
alter table outgoing_payment
  add column fixed_fee_value numeric(20, 0) not null default 0,
  add constraint outgoing_payment_fixed_fee_is_part_of_fee check (fixed_fee_value between 0 and fee_value) not valid;
