-- An interaction belongs to the browser that opened it first, and an approval may hand out a code for its end. An approved
-- grant must be continued in time.
alter table interaction add column browser_hash bytea, add column finish_code_hash bytea;
alter table grant_request add column continue_before timestamptz(3);

-- The purge. Grants that are there already count from now: the default is one value for all of them, and writes no row.
alter table grant_request add column alive_until timestamptz(3) default now();
create index grant_request_alive_until_idx on grant_request (alive_until) where alive_until is not null;
-- Tokens that are not their grant's newest: a rotation ended each of them.
create index access_token_rotated_idx on access_token (ended_at) where end_reason = 'rotated';

-- What was spent is never deleted with its grant. The rows that are there satisfied the constraint before, so they are not
-- looked at again.
alter table limit_window
  drop constraint limit_window_access_item_id_fkey,
  add constraint limit_window_access_item_id_fkey
    foreign key (access_item_id) references access_item (id) on delete restrict on update cascade not valid;
