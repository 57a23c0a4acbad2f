-- run: alone
-- Finds whether there is a settlement with a reference already.
create index concurrently if not exists peer_settlement_peer_id_direction_reference_idx on peer_settlement (peer_id, direction, reference);
