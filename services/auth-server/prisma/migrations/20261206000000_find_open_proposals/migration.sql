-- run: alone
-- Lists proposals that await a decision, among all that were ever made.
create index concurrently if not exists operator_proposal_open_idx on operator_proposal (expires_at) where decision is null;
