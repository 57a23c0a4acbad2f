-- run: alone
-- Lists the payments under a grant, newest first.
create index concurrently if not exists outgoing_payment_grant_id_wallet_address_id_created_at_id_idx
  on outgoing_payment (grant_id, wallet_address_id, created_at, id);
