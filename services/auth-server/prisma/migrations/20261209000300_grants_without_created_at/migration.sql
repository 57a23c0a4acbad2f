-- run: alone
-- The list of grants has the order of their ids.
drop index concurrently if exists grant_request_created_at_id_idx;
