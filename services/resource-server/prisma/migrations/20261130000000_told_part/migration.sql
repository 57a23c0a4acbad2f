-- An event tells what a payment that is being sent has debited, whenever that rose.
alter table sending add column told_debit_value numeric(20, 0) not null default 0;
