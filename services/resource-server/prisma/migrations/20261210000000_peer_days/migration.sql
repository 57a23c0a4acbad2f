-- What each peer owed, and was owed, when a day in UTC ended: a statement of an old day need not sum up what was booked since.
create table peer_day (
  peer_id uuid not null references peer (id),
  ended_at timestamptz(3) not null,
  receivable_value numeric(20, 0) not null,
  payable_value numeric(20, 0) not null,
  primary key (peer_id, ended_at)
);
