-- run: alone
-- Finds what became of an event.
create index concurrently if not exists webhook_attempt_event_id_place_idx on webhook_attempt (event_id, place);
