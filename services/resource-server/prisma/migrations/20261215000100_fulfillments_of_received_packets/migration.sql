-- What a packet of a peer was fulfilled with, which the peer gets in its statement if its answer was lost. Null for what an earlier version
-- credited.
alter table received_packet
  add column fulfillment bytea,
  add constraint received_packet_fulfillment_proves_it check (fulfillment is null or sha256(fulfillment) = condition) not valid;
