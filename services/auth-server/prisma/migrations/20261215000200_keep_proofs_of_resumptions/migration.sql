-- What proved that an account holder wanted to resume a grant.
alter table grant_act
  add column needs_proof boolean not null default false,
  add column document text,
  add column id_token text,
  add column ownership text,
  add constraint grant_act_proof_is_whole check (
    num_nulls(document, id_token, ownership) = case when needs_proof then 0 else 3 end) not valid;
