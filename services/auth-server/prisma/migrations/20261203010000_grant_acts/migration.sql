-- What account holders do with the grants that they consented to.
alter table grant_request
  add column paused_at timestamptz(3),
  add column ends_at timestamptz(3),
  add column payable_until timestamptz(3);
alter table limit_window add column last_charged_at timestamptz(3);

create type grant_act_kind as enum ('paused', 'resumed', 'lowered', 'stopped');
-- It goes with its grant, and never changes before.
create table grant_act (
  id uuid primary key,
  grant_id uuid not null,
  kind grant_act_kind not null,
  before jsonb not null,
  after jsonb not null,
  counted jsonb not null,
  issuer text not null,
  sub text not null,
  at timestamptz(3) not null,
  constraint grant_act_grant_id_fkey foreign key (grant_id) references grant_request (id) on delete cascade on update cascade
);
create index grant_act_grant_id_at_idx on grant_act (grant_id, at);

create function refuse_change_of_grant_act() returns trigger language plpgsql as $$
begin
  -- The purge deletes a grant first, and with it what belongs to it.
  if tg_op = 'DELETE' and not exists (select 1 from grant_request where id = old.grant_id) then
    return old;
  end if;
  raise exception 'a grant act never changes' using errcode = 'check_violation', constraint = 'grant_act_never_changes';
end
$$;
create trigger grant_act_never_changes before update or delete on grant_act
  for each row execute function refuse_change_of_grant_act();
