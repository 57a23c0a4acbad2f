-- A restored dump, and a copy of the database, are on the timeline of their original, and begin an epoch as well: another database, or another
-- table. Rows have neither until somebody publishes.
alter table event_epoch add column database_oid bigint, add column table_oid bigint;
