-- run: alone
-- Lists the grants of a client in the order of their ids.
create index concurrently if not exists grant_request_client_wallet_address_id_idx on grant_request (client_wallet_address, id);
