-- Whose consent an interaction asks for: one account holder's, named by the wallet address.
alter table interaction add column wallet_address text;
