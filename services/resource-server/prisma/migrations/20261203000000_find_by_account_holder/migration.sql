-- run: alone
-- Finds the accounts that a person holds.
create index concurrently if not exists account_holder_idx on account (holder_issuer, holder_sub)
  where holder_issuer is not null;
