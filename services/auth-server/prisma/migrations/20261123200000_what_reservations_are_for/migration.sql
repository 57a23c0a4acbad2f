-- What a payment's room was taken for, and the instant whose interval it was charged to: so that an audit can compare both
-- with what the account holder agreed to, and with the payment.
alter table reservation
  add column wallet_address text,
  add column receiver text,
  add column charged_at timestamptz(3),
  add constraint reservation_names_its_payment check (
    state not in ('open', 'settled') or num_nulls(wallet_address, receiver, charged_at) = 0) not valid;
