-- run: alone
-- Finds incoming payments by their amount, newest first.
create index concurrently if not exists incoming_payment_incoming_value_created_at_id_idx
  on incoming_payment (incoming_value, created_at, id);
