-- run: alone
-- The index of the incarnation is in its place.
drop index concurrently if exists event_epoch_system_identifier_timeline_id_key;
