import { placeholder, sql, Statement } from '@open-payments-server/database'

/**
 * Deletes the oldest events, up to the first that is younger than the retention, and records how far. Takes `now`,
 * `retentionSeconds` and `countMax`, as every statement that purges. The earlier of the service's and the database's clocks
 * counts, so that a clock that runs ahead deletes nothing.
 */
export const purgeEvents = new Statement<{ readonly lookedAt: number; readonly purged: number }>(
  'purge-events',
  sql`
  with instant as (
    select least(${placeholder('now')}::timestamptz, now())
             - make_interval(secs => ${placeholder('retentionSeconds')}::integer) as cutoff
  ), looked_at as (
    select e.number, e.occurred_at < instant.cutoff as is_over from instant cross join event e
     where e.number > (select expired_number from event_log)
     order by e.number limit ${placeholder('countMax')}::integer
  ), due as (
    select number from looked_at l where l.is_over
       and not exists (select 1 from looked_at younger where not younger.is_over and younger.number < l.number)
  ), expired as (
    update event_log set expired_number = greatest(expired_number, due.number)
      from (select max(number) as number from due) as due where due.number is not null
  ), purged as (
    delete from event e using due where e.number = due.number returning 1
  )
  select (select count(*) from looked_at)::integer as "lookedAt", (select count(*) from purged)::integer as purged`,
  { prepared: false }
)
