-- Which key a payment's shared secret is derived from, so that keys can be replaced. Null: from before keys were told apart.
alter table incoming_payment add column shared_secret_key_id text;

-- A repeated request is found by the hash of its key, not by an id that a secret goes into: secrets can then be replaced.
alter table incoming_payment add column idempotency_hash bytea;
create unique index incoming_payment_idempotency_hash_key on incoming_payment (idempotency_hash)
  where idempotency_hash is not null;
alter table quote add column idempotency_hash bytea;
create unique index quote_idempotency_hash_key on quote (idempotency_hash) where idempotency_hash is not null;
