-- Which kinds of account a transfer joins. The kinds are part of the keys that tie it to its accounts, so that what it says
-- of them is true, and no account that a transfer names can become one of another kind.
create unique index account_id_asset_id_kind_key on account (id, asset_id, kind);

alter table transfer add column debit_account_kind account_kind, add column credit_account_kind account_kind;
update transfer t set debit_account_kind = d.kind, credit_account_kind = c.kind
  from account d, account c
 where d.id = t.debit_account_id and c.id = t.credit_account_id;

alter table transfer
  alter column debit_account_kind set not null,
  alter column credit_account_kind set not null,
  -- No kind joins two accounts of one kind.
  drop constraint transfer_between_two_accounts,
  drop constraint transfer_debit_account_fkey,
  drop constraint transfer_credit_account_fkey,
  -- Both sides are accounts of the transfer's asset: money cannot change its asset on the way.
  add constraint transfer_debit_account_fkey
    foreign key (debit_account_id, asset_id, debit_account_kind) references account (id, asset_id, kind),
  add constraint transfer_credit_account_fkey
    foreign key (credit_account_id, asset_id, credit_account_kind) references account (id, asset_id, kind),
  add constraint transfer_joins_its_kinds check (
    case kind
      when 'deposit' then debit_account_kind = 'outside' and credit_account_kind = 'wallet'
      when 'withdrawal' then debit_account_kind = 'wallet' and credit_account_kind = 'outside'
      when 'payment' then debit_account_kind = 'wallet' and credit_account_kind = 'clearing'
      when 'fee' then debit_account_kind = 'clearing' and credit_account_kind = 'fees'
      when 'delivery' then debit_account_kind = 'clearing' and credit_account_kind in ('wallet', 'exchange')
      when 'conversion' then debit_account_kind = 'exchange' and credit_account_kind = 'wallet'
    end),
  -- Money moves between wallets for a payment only, and into a wallet for what it asked for only.
  add constraint transfer_names_its_payment check ((payment_id is null) = (kind in ('deposit', 'withdrawal'))),
  add constraint transfer_names_its_receiver check (
    (incoming_payment_id is not null) = (kind in ('delivery', 'conversion') and credit_account_kind = 'wallet')),
  -- Only a payment's first transfer is a hold: it has the payment's id, and all others are posted whole.
  add constraint transfer_holds_for_a_payment check (
    case kind when 'payment' then id = payment_id else state = 'posted' and posted_amount = amount end);

drop index account_id_asset_id_key;

-- A payment moves its money once.
create unique index transfer_payment_id_kind_key on transfer (payment_id, kind);
drop index transfer_payment_id_idx;
