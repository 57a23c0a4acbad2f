-- run: alone
create index concurrently if not exists quote_alive_until_idx on quote (alive_until) where alive_until is not null;
