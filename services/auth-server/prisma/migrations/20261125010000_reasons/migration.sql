-- Issued grants under which nothing can be paid from a known instant on, until that was told.
create table grant_expiry (
  grant_id uuid primary key,
  ends_at timestamptz(3) not null,
  constraint grant_expiry_grant_id_fkey foreign key (grant_id) references grant_request (id) on delete cascade on update cascade
);
create index grant_expiry_ends_at_idx on grant_expiry (ends_at);
