-- Whether a consent counts only with its record: the audit looks for it.
alter table interaction add column needs_consent_record boolean not null default false;
