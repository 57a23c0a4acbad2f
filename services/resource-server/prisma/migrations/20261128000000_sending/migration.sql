-- Of a packet that a peer fulfilled: from the exchange account of its asset to what this provider owes it.
alter type transfer_kind add value 'dispatch' after 'receipt_conversion';

-- The new kind is compared as text: it cannot be used before this migration is committed.
alter table transfer add constraint transfer_dispatch_joins_its_kinds check (
  kind::text <> 'dispatch' or (debit_account_kind = 'exchange' and credit_account_kind::text = 'peer_payable')) not valid;

-- Payments to other providers can be what a rule is about.
alter table approval_rule drop constraint approval_rule_method_known;
alter table approval_rule add constraint approval_rule_method_known check (method in ('local', 'ilp')) not valid;

-- Of what is paid at another provider: to which peer its packets go, and the most that may be sent, in the peer's asset. Null where
-- the receiver is hosted here.
alter table quote
  add column peer_id uuid,
  add column send_max_value numeric(20, 0),
  add constraint quote_peer_id_fkey foreign key (peer_id) references peer (id) not valid,
  add constraint quote_is_sent_whole check ((peer_id is null) = (send_max_value is null) and send_max_value > 0) not valid;
alter table outgoing_payment
  add column peer_id uuid,
  add column send_max_value numeric(20, 0),
  -- Until when what is sent may be on its way: a payment that was not begun by then is not begun any more.
  add column begin_until timestamptz(3),
  add constraint outgoing_payment_peer_id_fkey foreign key (peer_id) references peer (id) not valid,
  add constraint outgoing_payment_is_sent_whole check (
    (peer_id is null) = (send_max_value is null) and (peer_id is null) = (begin_until is null) and send_max_value > 0) not valid;

-- While a payment is being sent, what is known to have arrived counts already. Not validated: every row was checked by the narrower
-- constraint that it replaces.
alter table outgoing_payment drop constraint outgoing_payment_state_is_true;
alter table outgoing_payment add constraint outgoing_payment_state_is_true check (
  case state::text
    when 'completed' then settled_debit_value = debit_value and settled_receive_value = receive_value and failure_reason is null
    when 'failed' then settled_receive_value < receive_value and failure_reason is not null
    when 'pending' then failure_reason is null and settled_debit_value < debit_value and settled_receive_value < receive_value
                        and (peer_id is not null or (settled_debit_value = 0 and settled_receive_value = 0))
    else settled_debit_value = 0 and settled_receive_value = 0 and failure_reason is null
  end) not valid;

-- A payment that is being sent to another provider: pending, and longer than a transaction. Deleted when it ends.
create table sending (
  payment_id uuid primary key,
  peer_id uuid not null,
  -- What may still be sent for it, in the peer's asset: what may still be owed to the peer.
  held_value numeric(20, 0) not null,
  -- Attempts that ended without a fulfillment, one after the other.
  attempts integer not null default 0,
  -- When the next attempt begins; null while nothing can be sent until packets are decided of which nothing is known.
  due_at timestamptz(3),
  -- Which process sends it now, and until when it may: another one takes over afterwards.
  leased_by uuid,
  leased_until timestamptz(3),
  constraint sending_payment_id_fkey foreign key (payment_id) references outgoing_payment (id),
  constraint sending_peer_id_fkey foreign key (peer_id) references peer (id),
  constraint sending_held_value_range check (held_value between 0 and 18446744073709551615),
  constraint sending_leases_whole check ((leased_by is null) = (leased_until is null))
);
create index sending_due_at_idx on sending (due_at, payment_id) where due_at is not null;
create index sending_peer_id_idx on sending (peer_id);

-- A packet to a peer: written before it is sent, and answered at most once. Its transfer, if it was fulfilled, has its id.
create table sent_packet (
  id uuid primary key,
  payment_id uuid not null,
  -- Its place among the packets of its payment, through all attempts.
  sequence bigint not null,
  peer_id uuid not null,
  -- The execution condition, by which the peer knows it, too.
  condition bytea not null,
  -- What it sends in the peer's asset, and the least that it delivers in the receiver's.
  send_value numeric(20, 0) not null,
  deliver_min_value numeric(20, 0) not null,
  -- `unknown` from before it is sent until it is answered, and for good if it never is, unless an operator decides it.
  outcome text not null default 'unknown',
  delivered_value numeric(20, 0),
  -- The proof that it arrived; null where an operator decided that it did.
  fulfillment bytea,
  -- Of a reject.
  code text,
  sent_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  answered_at timestamptz(3),
  -- Names of the operator who decided it; null where it was answered.
  decided_by text,
  constraint sent_packet_payment_id_fkey foreign key (payment_id) references outgoing_payment (id),
  constraint sent_packet_peer_id_fkey foreign key (peer_id) references peer (id),
  constraint sent_packet_condition_is_a_hash check (octet_length(condition) = 32),
  constraint sent_packet_fulfillment_proves_it check (fulfillment is null or sha256(fulfillment) = condition),
  constraint sent_packet_values_range check (
    send_value between 1 and 18446744073709551615 and deliver_min_value between 0 and 18446744073709551615
    and delivered_value between 0 and 18446744073709551615),
  constraint sent_packet_outcome_is_true check (
    case outcome
      when 'unknown' then answered_at is null and delivered_value is null and fulfillment is null and code is null and decided_by is null
      when 'fulfilled' then answered_at is not null and delivered_value is not null and code is null
                            and (fulfillment is null) = (decided_by is not null)
      when 'rejected' then answered_at is not null and delivered_value is null and fulfillment is null
      else false
    end)
);
create unique index sent_packet_payment_id_sequence_key on sent_packet (payment_id, sequence);
create unique index sent_packet_condition_key on sent_packet (condition);
-- For the statement of a day.
create index sent_packet_peer_id_answered_at_id_idx on sent_packet (peer_id, answered_at, id);
-- Those of which nothing is known: what may be owed, and what operators decide.
create index sent_packet_unknown_idx on sent_packet (peer_id, sent_at, id) where outcome = 'unknown';

-- What this provider holds at the auth server of another provider, to read what it pays there.
create table provider_grant (
  -- URL of the auth server.
  auth_server text primary key,
  -- Encrypted: the access token, where it is managed, and until when it is accepted.
  sealed text not null,
  saved_at timestamptz(3) not null
);
