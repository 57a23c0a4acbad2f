-- `sub` of the proposer's ID token, by which they may hold accounts, besides the claim that tells who they are.
alter table operator_proposal add column proposer_token_sub text;
