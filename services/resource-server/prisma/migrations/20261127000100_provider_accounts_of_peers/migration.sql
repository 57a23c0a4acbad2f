-- run: alone
-- Each peer has accounts of its own; of the others there is one of each kind in an asset.
create unique index concurrently if not exists account_provider_has_one_of_each_kind on account (asset_id, kind)
  where kind in ('outside', 'clearing', 'exchange', 'fees');
