-- Events that were committed with what they tell of, and are not published yet.
create table event_outbox (
  place bigint generated always as identity primary key,
  type text not null,
  subject_id uuid not null,
  -- Those columns of the resource that may change later, as they were then; null when it was just created.
  change json,
  occurred_at timestamptz(3) not null
);

-- Published events, numbered in the order of their commits. Events of one subject are told in this order too.
create table event (
  number bigint primary key,
  id uuid not null,
  type text not null,
  subject_id uuid not null,
  change json,
  occurred_at timestamptz(3) not null,
  constraint event_number_range check (number > 0)
);
create index event_subject_id_number_idx on event (subject_id, number);

-- One row: how far events were published, and how far they are no longer kept.
create table event_log (
  only_row boolean primary key default true,
  last_number bigint not null default 0,
  expired_number bigint not null default 0,
  constraint event_log_has_one_row check (only_row),
  constraint event_log_expires_what_was_published check (expired_number between 0 and last_number)
);
insert into event_log default values;

-- Each timeline of PostgreSQL begins an epoch: numbers between the last one that it knows and its first are left out, because
-- events that were lost may have had them.
create table event_epoch (
  place integer generated always as identity primary key,
  system_identifier bigint not null,
  timeline_id bigint not null,
  after_number bigint not null,
  first_number bigint not null,
  began_at timestamptz(3) not null default now()
);
create unique index event_epoch_system_identifier_timeline_id_key on event_epoch (system_identifier, timeline_id);
insert into event_epoch (system_identifier, timeline_id, after_number, first_number)
  select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint, 0, 1
    from pg_control_system() c;
