-- run: alone
-- Replaced by account_provider_has_one_of_each_kind, which lets each peer have accounts of its own.
drop index concurrently if exists account_one_of_each_kind_per_asset;
