-- An event tells when this provider owes a peer more than this.
alter table peer
  add column high_alert_value numeric(20, 0),
  add constraint peer_high_alert_is_uint64 check (high_alert_value between 0 and 18446744073709551615) not valid;
