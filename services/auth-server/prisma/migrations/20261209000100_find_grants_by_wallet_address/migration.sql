-- run: alone
-- Lists the grants for a wallet address in the order of their ids.
create index concurrently if not exists access_item_identifier_grant_id_idx on access_item (identifier, grant_id);
