-- run: alone
-- For the list of what the account holder of a wallet address consented to.
create index concurrently if not exists interaction_wallet_address_grant_id_idx on interaction (wallet_address, grant_id);
