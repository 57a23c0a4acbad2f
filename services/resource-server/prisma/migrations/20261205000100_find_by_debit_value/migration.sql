-- run: alone
-- Finds outgoing payments by their amount, newest first.
create index concurrently if not exists outgoing_payment_debit_value_created_at_id_idx
  on outgoing_payment (debit_value, created_at, id);
