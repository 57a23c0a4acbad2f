-- What operators did, and what awaits a second person. Nothing of either is ever deleted.
create table operator_action (
  id uuid primary key,
  operator text not null,
  operator_issuer text,
  operator_sub text,
  operator_name text,
  role text not null,
  method text not null,
  subject_kind text not null,
  subject text not null,
  request json not null,
  reason text not null,
  acted_at timestamptz(3) not null,
  proposal_id uuid,
  approver text,
  approver_issuer text,
  approver_sub text,
  approver_name text,
  before json,
  after json,
  outcome text,
  problem text,
  ended_at timestamptz(3),
  constraint operator_action_outcome check (outcome in ('done', 'unchanged', 'refused', 'proposed')),
  constraint operator_action_ended check ((outcome is null) = (ended_at is null))
);
create index operator_action_acted_at_id_idx on operator_action (acted_at, id);
create index operator_action_operator_acted_at_id_idx on operator_action (operator, acted_at, id);
create index operator_action_approver_acted_at_id_idx on operator_action (approver, acted_at, id);
create index operator_action_subject_acted_at_id_idx on operator_action (subject, acted_at, id);

create table operator_proposal (
  id uuid primary key,
  method text not null,
  subject_kind text not null,
  subject text not null,
  request json not null,
  request_bytes bytea not null,
  request_hash bytea not null,
  before json,
  after json,
  reason text not null,
  proposer text not null,
  proposer_issuer text,
  proposer_sub text,
  proposer_name text,
  proposed_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  decision text,
  decider text,
  decider_issuer text,
  decider_sub text,
  decider_name text,
  decided_at timestamptz(3),
  decision_reason text,
  constraint operator_proposal_decision check (decision in ('approved', 'rejected')),
  constraint operator_proposal_decided check (
    (decision is null) = (decided_at is null) and (decision is null) = (decider is null)),
  constraint operator_proposal_in_time check (decided_at < expires_at),
  -- The last guard of the second person, whatever the service does.
  constraint operator_proposal_second_person check (
    decision is distinct from 'approved' or (proposer_issuer, proposer_sub) is distinct from (decider_issuer, decider_sub))
);
create index operator_proposal_proposed_at_id_idx on operator_proposal (proposed_at, id);
create index operator_proposal_request_hash_idx on operator_proposal (request_hash);

create function refuse_change_of_operator_action() returns trigger language plpgsql as $$
begin
  -- An act of several steps is recorded before it begins, and its end once.
  if tg_op = 'UPDATE' and old.outcome is null and new.outcome is not null
     and (old.subject = '' or new.subject = old.subject)
     and to_jsonb(new) - array['subject', 'before', 'after', 'outcome', 'problem', 'ended_at']
       = to_jsonb(old) - array['subject', 'before', 'after', 'outcome', 'problem', 'ended_at'] then
    return new;
  end if;
  raise exception 'what an operator did never changes' using errcode = 'check_violation', constraint = 'operator_action_never_changes';
end
$$;
create trigger operator_action_never_changes before update or delete on operator_action
  for each row execute function refuse_change_of_operator_action();

create function refuse_change_of_operator_proposal() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.decision is null
     and to_jsonb(new) - array['decision', 'decider', 'decider_issuer', 'decider_sub', 'decider_name', 'decided_at', 'decision_reason']
       = to_jsonb(old) - array['decision', 'decider', 'decider_issuer', 'decider_sub', 'decider_name', 'decided_at', 'decision_reason'] then
    return new;
  end if;
  raise exception 'a proposal never changes' using errcode = 'check_violation', constraint = 'operator_proposal_never_changes';
end
$$;
create trigger operator_proposal_never_changes before update or delete on operator_proposal
  for each row execute function refuse_change_of_operator_proposal();
