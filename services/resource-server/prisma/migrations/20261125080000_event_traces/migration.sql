-- The trace of the statement that committed the event: version, trace id, span id and flags of `traceparent`.
alter table event_outbox add column trace bytea;
alter table event add column trace bytea;
