-- run: alone
-- They are found by client and id.
drop index concurrently if exists grant_request_client_wallet_address_created_at_id_idx;
