-- run: alone
-- Copies of a database have the same timeline.
create unique index concurrently if not exists event_epoch_incarnation_key on event_epoch (system_identifier, database_oid, table_oid, timeline_id);
