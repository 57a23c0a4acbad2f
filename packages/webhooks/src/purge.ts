import { placeholder, sql, Statement } from '@open-payments-server/database'

/** Fragment: selects the number of the last event that every enabled endpoint has got; null when there is no such endpoint. */
export const deliveredNumber = sql`
  select least((select min(reached_number) from webhook_endpoint where disabled_cause is null),
               (select min(d.number) - 1 from webhook_delivery d join webhook_endpoint e on e.id = d.endpoint_id
                 where e.disabled_cause is null and d.given_up_at is null))`

/**
 * Deletes the oldest attempts, and what was given up, past the retention. Takes `now`, `retentionSeconds` and `countMax`, as every
 * statement that purges. The earlier of the service's and the database's clocks counts.
 */
export const purgeAttempts = new Statement<{ readonly lookedAt: number; readonly purged: number }>(
  'purge-webhook-attempts',
  sql`
  with instant as (
    select least(${placeholder('now')}::timestamptz, now())
             - make_interval(secs => ${placeholder('retentionSeconds')}::integer) as cutoff
  ), looked_at as (
    select a.place, a.attempted_at < instant.cutoff as is_over from instant cross join webhook_attempt a
     order by a.place limit ${placeholder('countMax')}::integer
  ), purged as (
    delete from webhook_attempt a using looked_at l where a.place = l.place and l.is_over returning 1
  ), forgotten as (
    delete from webhook_delivery d using instant where d.given_up_at < instant.cutoff
  )
  select (select count(*) from purged)::integer as "lookedAt", (select count(*) from purged)::integer as purged`,
  { prepared: false }
)
