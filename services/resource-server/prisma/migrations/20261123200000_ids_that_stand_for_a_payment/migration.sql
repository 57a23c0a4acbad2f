-- A payment id that was given up because its signed request had made a payment already, under another idempotency key.
alter table grant_reservation
  add column stands_for uuid references outgoing_payment (id),
  add constraint grant_reservation_stands_for_another_payment
    check (stands_for is null or (outcome is not distinct from 'release' and stands_for <> payment_id));
