-- run: alone
-- They are found by identifier and grant.
drop index concurrently if exists access_item_identifier_idx;
