-- Which incarnations of this database were met, and since when: each timeline is one, and so is each restored dump and each copy, which have the
-- timeline of their original. Either may have lost what was committed before. It replaces `database_timeline`, which the version before uses.
create table database_incarnation (
  -- Of the cluster: whoever begins a new one, as for a new version of PostgreSQL, begins to count timelines again.
  system_identifier bigint not null,
  -- Of the database, and of this table in it: a copy by `create database … template` is another database, and a restored dump makes another
  -- table.
  database_oid bigint not null,
  table_oid bigint not null,
  timeline_id bigint not null,
  first_seen_at timestamptz(3) not null default now(),
  last_seen_at timestamptz(3) not null default now(),
  -- Whether commits of the incarnation before may be missing.
  may_lose boolean not null default true,
  primary key (system_identifier, database_oid, table_oid, timeline_id)
);

-- All of them were this database.
insert into database_incarnation (system_identifier, database_oid, table_oid, timeline_id, first_seen_at, last_seen_at, may_lose)
  select t.system_identifier, d.oid, 'database_incarnation'::regclass::oid, t.timeline_id, t.first_seen_at, t.last_seen_at, t.may_lose
    from database_timeline t, pg_database d where d.datname = current_database();
