-- On which timelines of PostgreSQL this database was met, and since when: a timeline begins with a failover, or with a restored
-- backup, and either may have lost what was committed before.
create table database_timeline (
  -- Of the cluster: whoever begins a new one, as for a new version of PostgreSQL, begins to count timelines again.
  system_identifier bigint not null,
  timeline_id bigint not null,
  first_seen_at timestamptz(3) not null default now(),
  primary key (system_identifier, timeline_id)
);
