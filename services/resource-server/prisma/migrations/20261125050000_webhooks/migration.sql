-- Endpoints that the events of this service are posted to.
create table webhook_endpoint (
  id uuid primary key,
  url text not null,
  -- Only events of these types; all when empty.
  types text[] not null,
  -- Only events that concern this wallet address; null for all.
  wallet_address text,
  -- What signs, encrypted. The secret before the last rotation signs too, until an instant.
  secret text not null,
  previous_secret text,
  previous_until timestamptz(3),
  -- Why it gets nothing any more, and since when; null unless it is disabled.
  disabled_cause text,
  disabled_at timestamptz(3),
  -- The last event that was considered: delivered, passed over, or undelivered.
  reached_number bigint not null,
  -- Since when every attempt failed; null unless the last one did.
  failing_since timestamptz(3),
  -- The process that delivers to it, and until when unless it renews that.
  leased_by uuid,
  leased_until timestamptz(3),
  created_at timestamptz(3) not null,
  constraint webhook_endpoint_disabled check ((disabled_cause is null) = (disabled_at is null)),
  constraint webhook_endpoint_leased check ((leased_by is null) = (leased_until is null)),
  constraint webhook_endpoint_rotated check ((previous_secret is null) = (previous_until is null))
);
create index webhook_endpoint_created_at_id_idx on webhook_endpoint (created_at, id);

-- Events up to `reached_number` that an endpoint has not got: failed, or behind one of the same subject that did.
create table webhook_delivery (
  endpoint_id uuid not null,
  number bigint not null,
  subject_id uuid not null,
  attempts integer not null,
  first_attempted_at timestamptz(3),
  -- When it is tried again; null for at once, or once the event before it is delivered.
  due_at timestamptz(3),
  -- When it was tried for too long; null while it is tried.
  given_up_at timestamptz(3),
  constraint webhook_delivery_pkey primary key (endpoint_id, number),
  constraint webhook_delivery_endpoint_id_fkey foreign key (endpoint_id) references webhook_endpoint (id) on delete cascade on update cascade
);

-- What became of each attempt.
create table webhook_attempt (
  place bigint generated always as identity primary key,
  endpoint_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  attempted_at timestamptz(3) not null,
  duration_ms integer not null,
  -- Of the answer; null when there was none.
  status integer,
  -- Null when it was delivered.
  failure text,
  constraint webhook_attempt_endpoint_id_fkey foreign key (endpoint_id) references webhook_endpoint (id) on delete cascade on update cascade
);
create index webhook_attempt_endpoint_id_place_idx on webhook_attempt (endpoint_id, place desc);
