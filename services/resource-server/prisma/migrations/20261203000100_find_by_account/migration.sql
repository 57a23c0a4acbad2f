-- run: alone
-- Finds the wallet addresses of an account.
create index concurrently if not exists wallet_address_account_id_idx on wallet_address (account_id);
