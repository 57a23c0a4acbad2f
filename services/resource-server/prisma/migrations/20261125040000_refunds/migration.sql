-- Of a refund: from the receiver's account to the payer's, or to the exchange account when the assets differ.
alter type transfer_kind add value 'refund' after 'conversion';
-- From the exchange account of the payer's asset to the payer.
alter type transfer_kind add value 'refund_conversion' after 'refund';
-- From the provider's fees to the payer.
alter type transfer_kind add value 'refund_fee' after 'refund_conversion';

-- The new kinds are compared as text: they cannot be used before this migration is committed.
alter table transfer add constraint transfer_refund_joins_its_kinds check (
  case kind::text
    when 'refund' then debit_account_kind = 'wallet' and credit_account_kind in ('wallet', 'exchange')
    when 'refund_conversion' then debit_account_kind = 'exchange' and credit_account_kind = 'wallet'
    when 'refund_fee' then debit_account_kind = 'fees' and credit_account_kind = 'wallet'
    else true
  end) not valid;

alter table outgoing_payment
  -- The payment that it refunds.
  add column refund_of uuid,
  -- What refunds took of what it delivered, or will take if they are pending. In the receive asset, as what the provider refunded.
  add column refunded_value numeric(20, 0) not null default 0,
  -- The part of it that the provider refunded.
  add column provider_refunded_value numeric(20, 0) not null default 0,
  add constraint outgoing_payment_refunds_what_it_delivered check (
    provider_refunded_value >= 0 and provider_refunded_value <= refunded_value and refunded_value <= settled_receive_value) not valid,
  add constraint outgoing_payment_refunds_another check (refund_of <> id) not valid;

create table refund (
  -- Of the payment that makes it, if a client's payment does.
  id uuid primary key,
  -- The payment whose delivery it gives back, and the incoming payment that this was delivered to.
  refund_of uuid not null,
  incoming_payment_id uuid not null,
  payment_id uuid,
  -- The incoming payment that this payment pays.
  returned_to uuid,
  state text not null,
  -- What it takes from the receiver: as asked for, and in the end. Null while it is pending.
  asset_id integer not null,
  value numeric(20, 0) not null,
  settled_value numeric(20, 0),
  -- What had been refunded by the provider before it: decides how it is rounded. Null for a client's payment.
  from_value numeric(20, 0),
  -- What the payer gets for it, and of the fee. Null while it is pending.
  returned_asset_id integer not null,
  returned_value numeric(20, 0),
  returns_fee boolean not null,
  returned_fee_value numeric(20, 0) not null default 0,
  -- SHA-256 of the idempotency key, and of everything that was asked for with it.
  idempotency_hash bytea,
  request_hash bytea,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint refund_refund_of_fkey foreign key (refund_of) references outgoing_payment (id),
  constraint refund_incoming_payment_id_fkey foreign key (incoming_payment_id) references incoming_payment (id),
  constraint refund_payment_id_fkey foreign key (payment_id) references outgoing_payment (id),
  constraint refund_returned_to_fkey foreign key (returned_to) references incoming_payment (id),
  constraint refund_asset_id_fkey foreign key (asset_id) references asset (id),
  constraint refund_returned_asset_id_fkey foreign key (returned_asset_id) references asset (id),
  constraint refund_has_the_id_of_its_payment check (payment_id is null or payment_id = id),
  constraint refund_is_of_the_provider_or_a_payment check (
    (payment_id is null) = (from_value is not null) and (payment_id is null) = (returned_to is null)
    and (payment_id is null or (idempotency_hash is null and not returns_fee))),
  constraint refund_has_both_hashes check ((idempotency_hash is null) = (request_hash is null)),
  constraint refund_amounts_range check (
    value between 1 and 18446744073709551615 and settled_value between 0 and value and from_value >= 0
    and returned_value between 0 and 18446744073709551615 and returned_fee_value between 0 and 18446744073709551615
    and (returns_fee or returned_fee_value = 0)),
  constraint refund_state_is_true check (
    case state
      when 'pending' then payment_id is not null and settled_value is null and returned_value is null
      when 'completed' then settled_value > 0 and returned_value is not null and (payment_id is not null or settled_value = value)
      when 'failed' then payment_id is not null and settled_value = 0 and returned_value = 0
      else false
    end)
);
create index refund_refund_of_created_at_id_idx on refund (refund_of, created_at, id);
create index refund_created_at_id_idx on refund (created_at, id);
create index refund_incoming_payment_id_created_at_id_idx on refund (incoming_payment_id, created_at, id);
create index refund_returned_to_idx on refund (returned_to) where returned_to is not null;
create unique index refund_idempotency_hash_key on refund (idempotency_hash) where idempotency_hash is not null;
-- The parts that the provider refunded do not overlap.
create unique index refund_refund_of_from_value_key on refund (refund_of, from_value) where from_value is not null;
