-- run: in batches
-- Consents that were proved before that was noted.
update interaction
   set needs_consent_record = true
 where id in (
   select i.id from interaction i join consent_record c using (grant_id) where not i.needs_consent_record limit 1000);
