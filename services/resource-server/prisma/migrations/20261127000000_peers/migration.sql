-- Of a peer: what it owes this provider, and what this provider owes it. Both keep running totals, as wallets do.
alter type account_kind add value 'peer_receivable' after 'fees';
alter type account_kind add value 'peer_payable' after 'peer_receivable';
-- Of a packet of a peer: from what it owes to the receiver, or to the exchange account when the assets differ.
alter type transfer_kind add value 'receipt' after 'refund_fee';
-- From the exchange account of the receiver's asset to the receiver.
alter type transfer_kind add value 'receipt_conversion' after 'receipt';
-- What a peer and this provider paid each other outside.
alter type transfer_kind add value 'settlement_received' after 'receipt_conversion';
alter type transfer_kind add value 'settlement_sent' after 'settlement_received';

-- Not validated: every row was checked by the narrower constraints that they replace. The new kinds are compared as text: they cannot
-- be used before this migration is committed.
alter table account drop constraint account_provider_keeps_no_totals;
alter table account add constraint account_provider_keeps_no_totals check (
  kind::text in ('wallet', 'peer_receivable', 'peer_payable')
  or (debits_posted = 0 and credits_posted = 0 and debits_pending = 0)) not valid;
alter table transfer drop constraint transfer_names_its_receiver;
alter table transfer add constraint transfer_names_its_receiver check (
  (incoming_payment_id is not null)
  = (kind::text in ('delivery', 'conversion', 'receipt', 'receipt_conversion') and credit_account_kind = 'wallet')) not valid;
alter table transfer add constraint transfer_of_peer_joins_its_kinds check (
  case kind::text
    when 'receipt' then debit_account_kind::text = 'peer_receivable' and credit_account_kind in ('wallet', 'exchange')
    when 'receipt_conversion' then debit_account_kind = 'exchange' and credit_account_kind = 'wallet'
    when 'settlement_received' then debit_account_kind = 'outside' and credit_account_kind::text = 'peer_receivable'
    when 'settlement_sent' then debit_account_kind::text = 'peer_payable' and credit_account_kind = 'outside'
    else true
  end) not valid;

-- No longer written: the addresses of payments contain what they are derived from.
alter table incoming_payment alter column shared_secret_key_id set default '';

-- Another provider, in one asset.
create table peer (
  id uuid primary key,
  name text not null,
  asset_id integer not null,
  ilp_address text not null,
  routes text[] not null,
  endpoint text not null,
  -- Encrypted.
  outgoing_token text not null,
  receivable_limit_value numeric(20, 0),
  payable_limit_value numeric(20, 0),
  packet_limit_value numeric(20, 0),
  low_alert_value numeric(20, 0),
  receivable_account_id uuid not null,
  payable_account_id uuid not null,
  created_at timestamptz(3) not null,
  constraint peer_asset_id_fkey foreign key (asset_id) references asset (id),
  constraint peer_receivable_account_id_fkey foreign key (receivable_account_id) references account (id),
  constraint peer_payable_account_id_fkey foreign key (payable_account_id) references account (id),
  constraint peer_limits_range check (
    receivable_limit_value between 0 and 18446744073709551615 and payable_limit_value between 0 and 18446744073709551615
    and packet_limit_value between 1 and 18446744073709551615 and low_alert_value between 0 and 18446744073709551615)
);
create unique index peer_name_key on peer (name);
create unique index peer_receivable_account_id_key on peer (receivable_account_id);
create unique index peer_payable_account_id_key on peer (payable_account_id);

-- What a peer presents: the SHA-256 of it. No two peers have one.
create table peer_token (
  hash bytea primary key,
  peer_id uuid not null,
  created_at timestamptz(3) not null,
  -- Until when it is accepted; null until another one replaces it.
  expires_at timestamptz(3),
  constraint peer_token_peer_id_fkey foreign key (peer_id) references peer (id),
  constraint peer_token_is_a_hash check (octet_length(hash) = 32)
);
create index peer_token_peer_id_idx on peer_token (peer_id);

-- What a peer and this provider paid each other outside. Its transfer has its id.
create table peer_settlement (
  id uuid primary key,
  peer_id uuid not null,
  direction text not null,
  value numeric(20, 0) not null,
  reference text not null,
  -- SHA-256 of the idempotency key, and of everything that was asked for with it.
  idempotency_hash bytea not null,
  request_hash bytea not null,
  -- Names in the certificate of the operator who recorded it; null without mutual TLS.
  created_by text,
  created_at timestamptz(3) not null,
  constraint peer_settlement_peer_id_fkey foreign key (peer_id) references peer (id),
  constraint peer_settlement_direction_known check (direction in ('received', 'sent')),
  constraint peer_settlement_value_range check (value between 1 and 18446744073709551615)
);
create unique index peer_settlement_idempotency_hash_key on peer_settlement (idempotency_hash);
create index peer_settlement_peer_id_created_at_id_idx on peer_settlement (peer_id, created_at, id);

-- A packet of a peer that was credited to an incoming payment, once. Its transfer has its id.
create table received_packet (
  id uuid primary key,
  -- The execution condition, which no two packets share.
  condition bytea not null,
  peer_id uuid not null,
  incoming_payment_id uuid not null,
  -- In the peer's asset, and what the payment received for it.
  packet_value numeric(20, 0) not null,
  value numeric(20, 0) not null,
  received_at timestamptz(3) not null,
  constraint received_packet_peer_id_fkey foreign key (peer_id) references peer (id),
  constraint received_packet_incoming_payment_id_fkey foreign key (incoming_payment_id) references incoming_payment (id),
  constraint received_packet_condition_is_a_hash check (octet_length(condition) = 32),
  constraint received_packet_values_range check (
    packet_value between 1 and 18446744073709551615 and value between 1 and 18446744073709551615)
);
create unique index received_packet_condition_key on received_packet (condition);
create index received_packet_peer_id_received_at_id_idx on received_packet (peer_id, received_at, id);
