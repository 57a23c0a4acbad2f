-- run: alone
create index concurrently if not exists incoming_payment_alive_until_idx on incoming_payment (alive_until)
  where alive_until is not null;
