-- run: in batches
-- Grants that allow only to pay, and to see what others made, end when nothing can be paid any more: as those that are issued from now on.
update grant_request
   set ends_at = payable_until
 where id in (
   select g.id from grant_request g
    where g.state = 'issued' and g.payable_until is not null and (g.ends_at is null or g.ends_at > g.payable_until)
      and not exists (
        select 1 from access_item a cross join unnest(a.actions) as action
         where a.grant_id = g.id and action not in ('read-all', 'list-all')
           and not (a.type = 'outgoing-payment' and action = 'create'))
    limit 1000);
