-- What happened to outgoing payments in each hour, for people who look: counted by the processes that publish events.
create table payment_hour (
  started_at timestamptz(3) primary key,
  created_count bigint not null default 0,
  completed_count bigint not null default 0,
  failed_count bigint not null default 0,
  constraint payment_hour_whole check (started_at = date_trunc('hour', started_at, 'UTC')),
  constraint payment_hour_not_negative check (created_count >= 0 and completed_count >= 0 and failed_count >= 0)
);
