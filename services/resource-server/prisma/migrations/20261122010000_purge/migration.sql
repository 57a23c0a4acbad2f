-- The purge. What is there already counts from now: the default is one value for all of it, and writes no row.
alter table incoming_payment add column alive_until timestamptz(3) default now();
create index incoming_payment_alive_until_idx on incoming_payment (alive_until) where alive_until is not null;
alter table quote add column alive_until timestamptz(3) default now();
create index quote_alive_until_idx on quote (alive_until) where alive_until is not null;
