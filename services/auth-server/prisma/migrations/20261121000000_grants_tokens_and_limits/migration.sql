create type grant_state as enum ('pending', 'approved', 'issued', 'rejected', 'revoked');
create type interaction_state as enum ('PENDING', 'APPROVED', 'DENIED');
create type token_end as enum ('rotated', 'revoked');
create type reservation_state as enum ('open', 'settled', 'released', 'refused');

create table grant_request (
  id uuid primary key,
  state grant_state not null,
  client_wallet_address text,
  client_jwk_thumbprint text,
  client_name text,
  key_id text not null,
  key_x text not null,
  continuation_token_hash bytea not null,
  continue_after timestamptz(3),
  continue_before timestamptz(3),
  finish_uri text,
  finish_nonce text,
  finish_hash_method text,
  subject jsonb,
  rejection_reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  alive_until timestamptz(3) default now(),
  constraint grant_request_one_client check (num_nonnulls(client_wallet_address, client_jwk_thumbprint) = 1),
  constraint grant_request_finish_whole check ((finish_uri is null) = (finish_nonce is null)),
  -- An approved grant must be continued in time.
  constraint grant_request_approved_for_a_while check ((state = 'approved') = (continue_before is not null))
);
create index grant_request_created_at_id_idx on grant_request (created_at, id);
create index grant_request_client_wallet_address_created_at_id_idx on grant_request (client_wallet_address, created_at, id);
-- What the purge looks at next.
create index grant_request_alive_until_idx on grant_request (alive_until) where alive_until is not null;

create table access_item (
  id uuid primary key,
  grant_id uuid not null,
  position smallint not null,
  type text not null,
  actions text[] not null,
  identifier text,
  limit_receiver text,
  limit_interval text,
  limit_debit_value numeric(20, 0),
  limit_debit_code text,
  limit_debit_scale smallint,
  limit_receive_value numeric(20, 0),
  limit_receive_code text,
  limit_receive_scale smallint,
  constraint access_item_grant_id_fkey foreign key (grant_id) references grant_request (id) on delete cascade on update cascade,
  -- Whoever lets others pay says from which wallet address: the consent to it is one account holder's.
  constraint access_item_paying_names_its_wallet_address check (type <> 'outgoing-payment' or identifier is not null),
  constraint access_item_limit_debit_whole check (num_nonnulls(limit_debit_value, limit_debit_code, limit_debit_scale) in (0, 3)),
  constraint access_item_limit_receive_whole check (num_nonnulls(limit_receive_value, limit_receive_code, limit_receive_scale) in (0, 3)),
  constraint access_item_limit_range check (limit_debit_value between 0 and 18446744073709551615 and limit_receive_value between 0 and 18446744073709551615)
);
create unique index access_item_grant_id_position_key on access_item (grant_id, position);
create index access_item_identifier_idx on access_item (identifier);

create table interaction (
  id uuid primary key,
  grant_id uuid not null,
  wallet_address text not null,
  nonce text not null,
  reference text not null,
  state interaction_state not null,
  expires_at timestamptz(3) not null,
  browser_hash bytea,
  finish_code_hash bytea,
  constraint interaction_grant_id_fkey foreign key (grant_id) references grant_request (id) on delete cascade on update cascade
);
create unique index interaction_grant_id_key on interaction (grant_id);

create table access_token (
  id uuid primary key,
  grant_id uuid not null,
  value_hash bytea not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  end_reason token_end,
  created_at timestamptz(3) not null,
  constraint access_token_grant_id_fkey foreign key (grant_id) references grant_request (id) on delete cascade on update cascade,
  constraint access_token_end_whole check ((ended_at is null) = (end_reason is null))
);
create unique index access_token_value_hash_key on access_token (value_hash);
create index access_token_grant_id_idx on access_token (grant_id);
-- A grant has one living token at most, however many rotations race.
create unique index access_token_one_living_per_grant on access_token (grant_id) where ended_at is null;
-- Tokens that are not their grant's newest: the purge deletes them.
create index access_token_rotated_idx on access_token (ended_at) where end_reason = 'rotated';

create table limit_window (
  access_item_id uuid not null,
  interval_index bigint not null,
  spent_debit_value numeric(20, 0) not null,
  spent_receive_value numeric(20, 0) not null,
  debit_code text not null,
  debit_scale smallint not null,
  receive_code text not null,
  receive_scale smallint not null,
  limit_debit_value numeric(20, 0),
  limit_receive_value numeric(20, 0),
  constraint limit_window_pkey primary key (access_item_id, interval_index),
  -- What was spent is never deleted with its grant.
  constraint limit_window_access_item_id_fkey foreign key (access_item_id) references access_item (id) on delete restrict on update cascade,
  -- The last line of defence: no bug in code can count beyond a limit, or below nothing.
  constraint limit_window_debit_within_limit check (spent_debit_value >= 0 and spent_debit_value <= coalesce(limit_debit_value, 18446744073709551615)),
  constraint limit_window_receive_within_limit check (spent_receive_value >= 0 and spent_receive_value <= coalesce(limit_receive_value, 18446744073709551615))
);

create table reservation (
  payment_id uuid primary key,
  state reservation_state not null,
  content_hash bytea,
  refusal_reason text,
  grant_id uuid,
  access_item_id uuid,
  interval_index bigint,
  debit_value numeric(20, 0),
  debit_code text,
  debit_scale smallint,
  receive_value numeric(20, 0),
  receive_code text,
  receive_scale smallint,
  receive_counted boolean,
  spent_debit_value numeric(20, 0),
  spent_receive_value numeric(20, 0),
  settled_debit_value numeric(20, 0),
  settled_receive_value numeric(20, 0),
  wallet_address text,
  receiver text,
  charged_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  constraint reservation_amounts_range check (debit_value between 0 and 18446744073709551615 and receive_value between 0 and 18446744073709551615),
  constraint reservation_refusal_has_reason check ((state = 'refused') = (refusal_reason is not null)),
  constraint reservation_settled_within_reserved check (
    (state = 'settled') = (settled_debit_value is not null and settled_receive_value is not null)
    and settled_debit_value between 0 and debit_value and settled_receive_value between 0 and receive_value),
  constraint reservation_has_a_window check (
    state not in ('open', 'settled')
    or num_nulls(grant_id, access_item_id, interval_index, debit_value, debit_code, debit_scale, receive_value, receive_code, receive_scale, receive_counted, wallet_address, receiver, charged_at) = 0)
);
create index reservation_open_idx on reservation (created_at, payment_id) where state = 'open';
-- Only payments in another receive asset than their window's are ever summed from here.
create index reservation_other_asset_idx on reservation (access_item_id, interval_index, receive_code, receive_scale)
  where not receive_counted;
-- Refusals that the purge looks for. One that was released after has an end, and is kept for good.
create index reservation_refused_idx on reservation (created_at) where state = 'refused' and ended_at is null;
