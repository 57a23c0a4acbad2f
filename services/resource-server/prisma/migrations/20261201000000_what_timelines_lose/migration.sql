-- Whether commits of the timeline before may be missing, and when a timeline was last seen.
alter table database_timeline
  add column may_lose boolean not null default true,
  add column last_seen_at timestamptz(3) not null default now();
