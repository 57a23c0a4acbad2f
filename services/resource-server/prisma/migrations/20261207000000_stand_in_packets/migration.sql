-- After the database lost commits, nobody knows what was sent for payments that were pending before: a packet stands for all of that, until an
-- operator decides how much of it arrived.
alter table sent_packet add column is_stand_in boolean not null default false;
-- Since when everything that is sent for the payment is written down here.
alter table sending add column known_since timestamptz not null default now();
