-- What will expire, and is to be told of then. An entry goes once it is told, so that there are only those of what has not expired.
create table expiry (
  expires_at timestamptz(3) not null,
  subject_id uuid not null,
  -- Of what: `incoming_payment` or `quote`.
  kind text not null,
  primary key (expires_at, subject_id)
);
