-- Clients that an operator froze, and those that were: never deleted, because events tell of them.
create table client_freeze (
  id uuid primary key,
  -- URL of the client's wallet address, or `jwk:` and its key's thumbprint.
  client text not null,
  -- Since when, who ordered it, and why. All are null unless it is frozen now.
  frozen_at timestamptz(3),
  frozen_by text,
  freeze_reason text,
  constraint client_freeze_whole check ((frozen_at is null) = (frozen_by is null) and (frozen_at is null) = (freeze_reason is null))
);
create unique index client_freeze_client_key on client_freeze (client);
