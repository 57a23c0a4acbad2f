-- The purge. What is there already counts from now: the default is one value for all of it, and writes no row.
alter table incoming_payment add column alive_until timestamptz(3) default now();
alter table quote add column alive_until timestamptz(3) default now();
