-- run: alone
-- Lists grants in a state that few are in.
create index concurrently if not exists grant_request_state_id_idx on grant_request (state, id) where state <> 'issued';
