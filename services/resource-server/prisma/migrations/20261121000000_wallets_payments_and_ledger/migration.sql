create type account_kind as enum ('wallet', 'outside', 'clearing', 'exchange', 'fees');
create type outgoing_payment_state as enum ('pending', 'completed', 'failed');
create type transfer_state as enum ('pending', 'posted', 'voided');
create type transfer_kind as enum ('deposit', 'withdrawal', 'payment', 'fee', 'delivery', 'conversion');

create table asset (
  id serial primary key,
  code text not null,
  scale smallint not null,
  constraint asset_scale_range check (scale between 0 and 255),
  constraint asset_code_length check (length(code) between 1 and 32)
);
create unique index asset_code_scale_key on asset (code, scale);

create table account (
  id uuid primary key,
  kind account_kind not null,
  name text,
  asset_id integer not null,
  debits_posted numeric(38, 0) not null default 0,
  credits_posted numeric(38, 0) not null default 0,
  debits_pending numeric(38, 0) not null default 0,
  created_at timestamptz(3) not null default now(),
  constraint account_asset_id_fkey foreign key (asset_id) references asset (id) on delete restrict on update cascade,
  constraint account_wallet_is_named check ((kind = 'wallet') = (name is not null)),
  constraint account_totals_not_negative check (debits_posted >= 0 and credits_posted >= 0 and debits_pending >= 0),
  -- No account holder ever spends what is not there, whatever the code does.
  constraint account_wallet_not_overdrawn check (kind <> 'wallet' or credits_posted - debits_posted - debits_pending >= 0),
  constraint account_provider_keeps_no_totals check (kind = 'wallet' or (debits_posted = 0 and credits_posted = 0 and debits_pending = 0))
);
create unique index account_name_key on account (name);
create unique index account_id_asset_id_key on account (id, asset_id);
create unique index account_one_of_each_kind_per_asset on account (asset_id, kind) where kind <> 'wallet';

create table wallet_address (
  id uuid primary key,
  path text not null,
  public_name text,
  account_id uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint wallet_address_account_id_fkey foreign key (account_id) references account (id) on delete restrict on update cascade
);
create unique index wallet_address_path_key on wallet_address (path);

create table client_key (
  wallet_address_id uuid not null,
  kid text not null,
  x text not null,
  created_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3),
  constraint client_key_pkey primary key (wallet_address_id, kid),
  constraint client_key_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade
);

create table incoming_payment (
  id uuid primary key,
  wallet_address_id uuid not null,
  client text not null,
  incoming_value numeric(20, 0),
  received_value numeric(20, 0) not null default 0,
  completed boolean not null default false,
  expires_at timestamptz(3) not null,
  metadata jsonb,
  request_hash bytea,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint incoming_payment_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade,
  constraint incoming_payment_received_within_incoming check (
    received_value >= 0 and received_value <= coalesce(incoming_value, 18446744073709551615)
    and incoming_value between 0 and 18446744073709551615),
  constraint incoming_payment_full_is_completed check (incoming_value is null or received_value < incoming_value or completed)
);
create index incoming_payment_wallet_address_id_created_at_id_idx on incoming_payment (wallet_address_id, created_at, id);
create index incoming_payment_wallet_address_id_client_created_at_id_idx on incoming_payment (wallet_address_id, client, created_at, id);
create index incoming_payment_created_at_id_idx on incoming_payment (created_at, id);

create table quote (
  id uuid primary key,
  wallet_address_id uuid not null,
  client text not null,
  receiver text not null,
  debit_value numeric(20, 0) not null,
  fee_value numeric(20, 0) not null,
  receive_value numeric(20, 0) not null,
  receive_asset_id integer not null,
  method text not null,
  request_hash bytea,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  constraint quote_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade,
  constraint quote_receive_asset_id_fkey foreign key (receive_asset_id) references asset (id) on delete restrict on update cascade,
  constraint quote_amounts_range check (
    debit_value between 1 and 18446744073709551615 and receive_value between 1 and 18446744073709551615
    and fee_value >= 0 and fee_value < debit_value)
);

create table outgoing_payment (
  id uuid primary key,
  wallet_address_id uuid not null,
  client text not null,
  grant_id uuid not null,
  quote_id uuid,
  receiver text not null,
  debit_value numeric(20, 0) not null,
  fee_value numeric(20, 0) not null,
  receive_value numeric(20, 0) not null,
  receive_asset_id integer not null,
  state outgoing_payment_state not null,
  failure_reason text,
  sent_value numeric(20, 0) not null default 0,
  delivered_value numeric(20, 0) not null default 0,
  metadata jsonb,
  grant_spent_debit_value numeric(20, 0) not null,
  grant_spent_receive_value numeric(20, 0) not null,
  request_hash bytea not null,
  signature_id uuid not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint outgoing_payment_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade,
  constraint outgoing_payment_receive_asset_id_fkey foreign key (receive_asset_id) references asset (id) on delete restrict on update cascade,
  constraint outgoing_payment_amounts_range check (
    debit_value between 1 and 18446744073709551615 and receive_value between 1 and 18446744073709551615
    and fee_value >= 0 and fee_value < debit_value
    and sent_value between 0 and debit_value and delivered_value between 0 and receive_value),
  constraint outgoing_payment_state_is_true check (
    case state
      when 'pending' then sent_value = 0 and delivered_value = 0 and failure_reason is null
      when 'completed' then sent_value = debit_value and delivered_value = receive_value and failure_reason is null
      else delivered_value < receive_value and failure_reason is not null
    end)
);
create unique index outgoing_payment_quote_id_key on outgoing_payment (quote_id);
create unique index outgoing_payment_signature_id_key on outgoing_payment (signature_id);
create index outgoing_payment_wallet_address_id_created_at_id_idx on outgoing_payment (wallet_address_id, created_at, id);
create index outgoing_payment_wallet_address_id_client_created_at_id_idx on outgoing_payment (wallet_address_id, client, created_at, id);
create index outgoing_payment_created_at_id_idx on outgoing_payment (created_at, id);
create index outgoing_payment_pending_idx on outgoing_payment (created_at, id) where state = 'pending';

create table grant_reservation (
  payment_id uuid primary key,
  outcome text,
  debited_value numeric(20, 0),
  received_value numeric(20, 0),
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null default now(),
  delivered_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint grant_reservation_outcome_known check (outcome in ('settle', 'release')),
  constraint grant_reservation_outcome_whole check (
    (outcome is not distinct from 'settle') = (debited_value is not null) and (debited_value is null) = (received_value is null)),
  constraint grant_reservation_delivers_an_outcome check (delivered_at is null or outcome is not null)
);
create index grant_reservation_undelivered_idx on grant_reservation (next_attempt_at, payment_id)
  where outcome is not null and delivered_at is null;

create table transfer (
  id uuid primary key,
  kind transfer_kind not null,
  state transfer_state not null,
  payment_id uuid,
  debit_account_id uuid not null,
  credit_account_id uuid not null,
  asset_id integer not null,
  amount numeric(20, 0) not null,
  posted_amount numeric(20, 0),
  incoming_payment_id uuid,
  created_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  constraint transfer_asset_id_fkey foreign key (asset_id) references asset (id) on delete restrict on update cascade,
  -- Both sides are accounts of the transfer's asset: money cannot change its asset on the way.
  constraint transfer_debit_account_fkey foreign key (debit_account_id, asset_id) references account (id, asset_id),
  constraint transfer_credit_account_fkey foreign key (credit_account_id, asset_id) references account (id, asset_id),
  constraint transfer_between_two_accounts check (debit_account_id <> credit_account_id),
  constraint transfer_amount_range check (amount between 1 and 18446744073709551615),
  constraint transfer_state_is_true check (
    case state
      when 'pending' then posted_amount is null and ended_at is null
      when 'posted' then posted_amount between 1 and amount and ended_at is not null
      else posted_amount is null and ended_at is not null
    end)
);
create index transfer_payment_id_idx on transfer (payment_id);
create index transfer_debit_account_id_created_at_idx on transfer (debit_account_id, created_at);
create index transfer_credit_account_id_created_at_idx on transfer (credit_account_id, created_at);
create index transfer_incoming_payment_id_idx on transfer (incoming_payment_id) where incoming_payment_id is not null;

-- The entries of the ledger: both sides of every posted transfer.
create view ledger_entry as
  select id as transfer_id, debit_account_id as account_id, asset_id, 'debit' as side, posted_amount as amount, ended_at as posted_at
    from transfer where state = 'posted'
  union all
  select id, credit_account_id, asset_id, 'credit', posted_amount, ended_at
    from transfer where state = 'posted';
