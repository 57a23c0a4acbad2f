-- run: alone
-- Refusals that the purge looks for. One that was released after has an end, and is kept for good.
create index concurrently if not exists reservation_refused_idx on reservation (created_at)
  where state = 'refused' and ended_at is null;
