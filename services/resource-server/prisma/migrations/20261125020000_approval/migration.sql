-- Payments that a provider looks at before they go. The new value cannot be used before it is committed, so nothing below names it.
alter type outgoing_payment_state add value 'awaiting_approval' before 'pending';

-- Not validated: every row was checked by the narrower constraint that it replaces.
alter table outgoing_payment drop constraint outgoing_payment_state_is_true;
alter table outgoing_payment add constraint outgoing_payment_state_is_true check (
  case state
    when 'completed' then settled_debit_value = debit_value and settled_receive_value = receive_value and failure_reason is null
    when 'failed' then settled_receive_value < receive_value and failure_reason is not null
    else settled_debit_value = 0 and settled_receive_value = 0 and failure_reason is null
  end) not valid;

-- Which payments await approval: those that meet every condition of one rule. A condition that is null is met by all.
create table approval_rule (
  id uuid primary key,
  above_value numeric(20, 0),
  wallet_address_id uuid,
  client text,
  first_payee boolean not null,
  method text,
  created_at timestamptz(3) not null,
  constraint approval_rule_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade,
  constraint approval_rule_has_a_condition check (
    first_payee or num_nonnulls(above_value, wallet_address_id, client, method) > 0),
  constraint approval_rule_above_value_range check (above_value between 0 and 18446744073709551615),
  constraint approval_rule_method_known check (method in ('local'))
);
create index approval_rule_wallet_address_id_idx on approval_rule (wallet_address_id);

-- What was decided about each payment that met a rule. Kept for good, as payments are.
create table payment_approval (
  payment_id uuid primary key,
  -- The rule that it met, which may be deleted meanwhile.
  rule_id uuid not null,
  requested_at timestamptz(3) not null,
  -- When it is declined unless it is decided.
  expires_at timestamptz(3) not null,
  decision text,
  decided_at timestamptz(3),
  -- Name in the certificate of whoever decided; null without mutual TLS, and where the time was over.
  decided_by text,
  reason text,
  constraint payment_approval_payment_id_fkey foreign key (payment_id) references outgoing_payment (id) on delete restrict on update cascade,
  constraint payment_approval_decision_known check (decision in ('approved', 'declined', 'timed_out')),
  constraint payment_approval_decision_whole check (
    (decision is null) = (decided_at is null)
    and (num_nonnulls(decided_by, reason) = 0 or coalesce(decision in ('approved', 'declined'), false))),
  -- A decision comes in time, or the time decides.
  constraint payment_approval_decision_in_time check (
    expires_at > requested_at and (decision is null or (decision = 'timed_out') = (decided_at >= expires_at)))
);
create index payment_approval_undecided_idx on payment_approval (expires_at, payment_id) where decision is null;

-- Whom a wallet address has paid: filled when the first rule about first payees is created, and kept while there is one.
create table known_payee (
  wallet_address_id uuid not null,
  payee_wallet_address_id uuid not null,
  primary key (wallet_address_id, payee_wallet_address_id),
  constraint known_payee_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade,
  constraint known_payee_payee_wallet_address_id_fkey foreign key (payee_wallet_address_id) references wallet_address (id) on delete restrict on update cascade
);
