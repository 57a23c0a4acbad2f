-- So that the age of what the auth server was not told yet can be watched. What is there already counts from now on.
alter table grant_reservation add column outcome_since timestamptz(3) not null default now();
create index grant_reservation_undelivered_since_idx on grant_reservation (outcome_since)
  where outcome is not null and delivered_at is null;
