-- Payments that no grant counts any more, because the auth server's database was restored to a moment before their grants: an operator
-- took note of each. What it was then is stored with it, and never changes.
create table accepted_payment (
  payment_id uuid primary key,
  grant_id uuid not null,
  settled_debit_value numeric(20, 0) not null,
  settled_receive_value numeric(20, 0) not null,
  -- Names in the operator's certificate; null without mutual TLS.
  accepted_by text,
  reason text not null,
  accepted_at timestamptz(3) not null
);

create function refuse_change_of_accepted_payment() returns trigger language plpgsql as $$
begin
  raise exception 'an acceptance never changes' using errcode = 'check_violation', constraint = 'accepted_payment_never_changes';
end
$$;
create trigger accepted_payment_never_changes before update or delete or truncate on accepted_payment
  for each statement execute function refuse_change_of_accepted_payment();
