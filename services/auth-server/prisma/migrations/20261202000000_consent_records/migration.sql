-- What an account holder consented to, and the proof of it. It goes with its grant, and never changes before.
create table consent_record (
  grant_id uuid primary key,
  document text not null,
  document_hash bytea not null,
  issuer text not null,
  sub text not null,
  acr text,
  amr text[] not null,
  auth_time timestamptz(3),
  id_token text not null,
  ownership text not null,
  created_at timestamptz(3) not null,
  constraint consent_record_grant_id_fkey foreign key (grant_id) references grant_request (id) on delete cascade on update cascade,
  constraint consent_record_hash_is_of_document check (document_hash = sha256(convert_to(document, 'UTF8')))
);

create function refuse_change_of_consent_record() returns trigger language plpgsql as $$
begin
  -- The purge deletes a grant first, and with it what belongs to it.
  if tg_op = 'DELETE' and not exists (select 1 from grant_request where id = old.grant_id) then
    return old;
  end if;
  raise exception 'a consent record never changes' using errcode = 'check_violation', constraint = 'consent_record_never_changes';
end
$$;
create trigger consent_record_never_changes before update or delete on consent_record
  for each row execute function refuse_change_of_consent_record();
