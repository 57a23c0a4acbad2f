-- run: alone
-- Lists audits among all events, newest first.
create index concurrently if not exists event_audit_idx on event (number) where type in ('audit.passed', 'audit.failed');
