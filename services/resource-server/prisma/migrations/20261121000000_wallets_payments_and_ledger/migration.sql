create type account_kind as enum ('wallet', 'outside', 'clearing', 'exchange', 'fees');
create type outgoing_payment_state as enum ('pending', 'completed', 'failed');
create type outgoing_payment_failure_reason as enum (
  'insufficient_funds', 'receiver_not_found', 'receiver_completed', 'receiver_expired', 'receiver_full', 'partially_delivered');
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
create unique index asset_id_code_scale_key on asset (id, code, scale);

create table account (
  id uuid primary key,
  kind account_kind not null,
  name text,
  asset_id integer not null,
  asset_code text not null,
  asset_scale smallint not null,
  debits_posted numeric(38, 0) not null default 0,
  credits_posted numeric(38, 0) not null default 0,
  debits_pending numeric(38, 0) not null default 0,
  created_at timestamptz(3) not null default now(),
  -- What money is worth is part of the account: no asset that has one is given another code or scale.
  constraint account_asset_fkey foreign key (asset_id, asset_code, asset_scale) references asset (id, code, scale),
  constraint account_wallet_is_named check ((kind = 'wallet') = (name is not null)),
  constraint account_totals_not_negative check (debits_posted >= 0 and credits_posted >= 0 and debits_pending >= 0),
  -- No account holder ever spends what is not there, whatever the code does.
  constraint account_wallet_not_overdrawn check (kind <> 'wallet' or credits_posted - debits_posted - debits_pending >= 0),
  constraint account_provider_keeps_no_totals check (kind = 'wallet' or (debits_posted = 0 and credits_posted = 0 and debits_pending = 0))
);
create unique index account_name_key on account (name);
create unique index account_id_asset_id_kind_key on account (id, asset_id, kind);
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
  idempotency_hash bytea,
  shared_secret_key_id text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  alive_until timestamptz(3) default now(),
  constraint incoming_payment_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade,
  constraint incoming_payment_received_within_incoming check (
    received_value >= 0 and received_value <= coalesce(incoming_value, 18446744073709551615)
    and incoming_value between 0 and 18446744073709551615),
  constraint incoming_payment_full_is_completed check (incoming_value is null or received_value < incoming_value or completed)
);
create index incoming_payment_wallet_address_id_created_at_id_idx on incoming_payment (wallet_address_id, created_at, id);
create index incoming_payment_wallet_address_id_client_created_at_id_idx on incoming_payment (wallet_address_id, client, created_at, id);
create index incoming_payment_created_at_id_idx on incoming_payment (created_at, id);
-- A repeated request is found by the hash of its key.
create unique index incoming_payment_idempotency_hash_key on incoming_payment (idempotency_hash)
  where idempotency_hash is not null;
-- What the purge looks at next.
create index incoming_payment_alive_until_idx on incoming_payment (alive_until) where alive_until is not null;

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
  idempotency_hash bytea,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  alive_until timestamptz(3) default now(),
  constraint quote_wallet_address_id_fkey foreign key (wallet_address_id) references wallet_address (id) on delete restrict on update cascade,
  constraint quote_receive_asset_id_fkey foreign key (receive_asset_id) references asset (id) on delete restrict on update cascade,
  constraint quote_amounts_range check (
    debit_value between 1 and 18446744073709551615 and receive_value between 1 and 18446744073709551615
    and fee_value >= 0 and fee_value < debit_value)
);
create unique index quote_idempotency_hash_key on quote (idempotency_hash) where idempotency_hash is not null;
create index quote_alive_until_idx on quote (alive_until) where alive_until is not null;

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
  failure_reason outgoing_payment_failure_reason,
  settled_debit_value numeric(20, 0) not null default 0,
  settled_receive_value numeric(20, 0) not null default 0,
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
    and settled_debit_value between 0 and debit_value and settled_receive_value between 0 and receive_value),
  constraint outgoing_payment_state_is_true check (
    case state
      when 'pending' then settled_debit_value = 0 and settled_receive_value = 0 and failure_reason is null
      when 'completed' then settled_debit_value = debit_value and settled_receive_value = receive_value and failure_reason is null
      else settled_receive_value < receive_value and failure_reason is not null
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
  -- What the payment was persisted with, once more: so that neither can be changed in one place.
  quote_id uuid,
  fee_value numeric(20, 0),
  -- The instant that the auth server charged it at; null for an id that was given up.
  charged_at timestamptz(3),
  -- Whether its debit was held as it was persisted; null for an id that was given up.
  held boolean,
  outcome text,
  outcome_since timestamptz(3) not null default now(),
  settled_debit_value numeric(20, 0),
  settled_receive_value numeric(20, 0),
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null default now(),
  delivered_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  -- An id that was given up because its signed request had made a payment already, under another idempotency key.
  stands_for uuid references outgoing_payment (id),
  -- Why the id was given up; null where there is a payment. Kept for good, as the ids are.
  given_up_cause text,
  constraint grant_reservation_outcome_known check (outcome in ('settle', 'release')),
  constraint grant_reservation_outcome_whole check (
    (outcome is not distinct from 'settle') = (settled_debit_value is not null) and (settled_debit_value is null) = (settled_receive_value is null)),
  constraint grant_reservation_delivers_an_outcome check (delivered_at is null or outcome is not null),
  constraint grant_reservation_stands_for_another_payment
    check (stands_for is null or (outcome is not distinct from 'release' and stands_for <> payment_id)),
  constraint grant_reservation_cause_known check (
    given_up_cause is null
    or (outcome = 'release'
        and given_up_cause in ('reservation_unknown', 'persist_failed', 'id_taken', 'charge_stale', 'reservation_repeated', 'receiver_not_payable', 'swept', 'lost')))
);
create index grant_reservation_undelivered_idx on grant_reservation (next_attempt_at, payment_id)
  where outcome is not null and delivered_at is null;
create index grant_reservation_undelivered_since_idx on grant_reservation (outcome_since)
  where outcome is not null and delivered_at is null;

create table transfer (
  id uuid primary key,
  kind transfer_kind not null,
  state transfer_state not null,
  payment_id uuid,
  debit_account_id uuid not null,
  credit_account_id uuid not null,
  asset_id integer not null,
  debit_account_kind account_kind not null,
  credit_account_kind account_kind not null,
  amount numeric(20, 0) not null,
  posted_amount numeric(20, 0),
  incoming_payment_id uuid,
  created_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  -- Both sides are accounts of the transfer's asset, which exists because of them: money cannot change its asset on the way. Their
  -- kinds are part of the keys, so that what the transfer says of them is true, and no account that it names can become one of
  -- another kind.
  constraint transfer_debit_account_fkey
    foreign key (debit_account_id, asset_id, debit_account_kind) references account (id, asset_id, kind),
  constraint transfer_credit_account_fkey
    foreign key (credit_account_id, asset_id, credit_account_kind) references account (id, asset_id, kind),
  -- No kind joins two accounts of one kind.
  constraint transfer_joins_its_kinds check (
    case kind
      when 'deposit' then debit_account_kind = 'outside' and credit_account_kind = 'wallet'
      when 'withdrawal' then debit_account_kind = 'wallet' and credit_account_kind = 'outside'
      when 'payment' then debit_account_kind = 'wallet' and credit_account_kind = 'clearing'
      when 'fee' then debit_account_kind = 'clearing' and credit_account_kind = 'fees'
      when 'delivery' then debit_account_kind = 'clearing' and credit_account_kind in ('wallet', 'exchange')
      when 'conversion' then debit_account_kind = 'exchange' and credit_account_kind = 'wallet'
    end),
  -- Money moves between wallets for a payment only, and into a wallet for what it asked for only.
  constraint transfer_names_its_payment check ((payment_id is null) = (kind in ('deposit', 'withdrawal'))),
  constraint transfer_names_its_receiver check (
    (incoming_payment_id is not null) = (kind in ('delivery', 'conversion') and credit_account_kind = 'wallet')),
  -- Only a payment's first transfer is a hold: it has the payment's id, and all others are posted whole.
  constraint transfer_holds_for_a_payment check (
    case kind when 'payment' then id = payment_id else state = 'posted' and posted_amount = amount end),
  constraint transfer_amount_range check (amount between 1 and 18446744073709551615),
  constraint transfer_state_is_true check (
    case state
      when 'pending' then posted_amount is null and ended_at is null
      when 'posted' then posted_amount between 1 and amount and ended_at is not null
      else posted_amount is null and ended_at is not null
    end)
);
-- A payment moves its money once.
create unique index transfer_payment_id_kind_key on transfer (payment_id, kind);
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

-- On which timelines of PostgreSQL this database was met, and since when: a timeline begins with a failover, or with a restored
-- backup, and either may have lost what was committed before.
create table database_timeline (
  -- Of the cluster: whoever begins a new one, as for a new version of PostgreSQL, begins to count timelines again.
  system_identifier bigint not null,
  timeline_id bigint not null,
  first_seen_at timestamptz(3) not null default now(),
  primary key (system_identifier, timeline_id)
);
