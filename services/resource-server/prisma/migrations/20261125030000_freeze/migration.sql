-- An operator's freeze: since when, who ordered it, and why. All are null unless it is frozen.
alter table account add column frozen_at timestamptz(3), add column frozen_by text, add column freeze_reason text;
alter table wallet_address add column frozen_at timestamptz(3), add column frozen_by text, add column freeze_reason text;
alter table account add constraint account_freeze_whole
  check ((frozen_at is null) = (frozen_by is null) and (frozen_at is null) = (freeze_reason is null)) not valid;
alter table wallet_address add constraint wallet_address_freeze_whole
  check ((frozen_at is null) = (frozen_by is null) and (frozen_at is null) = (freeze_reason is null)) not valid;

-- The clients that the auth server says are frozen, to hold their pending payments.
create table frozen_client (
  client text primary key
);

-- A payment may be refused after its reservation, because its sender is frozen.
alter table grant_reservation drop constraint grant_reservation_cause_known;
alter table grant_reservation add constraint grant_reservation_cause_known check (
  given_up_cause is null
  or (outcome = 'release'
      and given_up_cause in ('reservation_unknown', 'persist_failed', 'id_taken', 'charge_stale', 'reservation_repeated', 'receiver_not_payable', 'account_frozen', 'swept', 'lost'))) not valid;
