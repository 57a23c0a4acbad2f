-- As wide as the totals of accounts, which they are computed from. No row is written anew: the scale stays.
alter table peer_day
  -- squawk-ignore changing-column-type
  alter column receivable_value type numeric(38, 0),
  -- squawk-ignore changing-column-type
  alter column payable_value type numeric(38, 0);
