-- Who holds a wallet account, as an OpenID Connect issuer knows them. Both are null unless an operator said so.
alter table account add column holder_issuer text, add column holder_sub text;
alter table account add constraint account_holder_whole
  check ((holder_issuer is null) = (holder_sub is null) and (holder_issuer is null or kind = 'wallet')) not valid;
