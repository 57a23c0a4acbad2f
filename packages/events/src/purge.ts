import { placeholder, type Sql, sql, Statement } from '@open-payments-server/database'

/** What a batch did: how many events were old enough, and how many of them were deleted. */
interface PurgedEvents {
  readonly lookedAt: number
  readonly purged: number
}

/** Fragment: nobody else needs any event. */
const DELIVERED = sql`select null::bigint`

/**
 * Composes a statement that deletes the oldest events, up to the first that is younger than the retention, and records how far. It
 * takes `now`, `retentionSeconds` and `countMax`, as every statement that purges. The earlier of the service's and the database's
 * clocks counts, so that a clock that runs ahead deletes nothing.
 *
 * @param keptAfter fragment: selects the number of the last event that nobody needs any more, so that no later one is deleted; null
 *   when nobody needs any. By default, readers that come too late are told to read everything anew.
 */
export function createPurgeOfEvents(keptAfter: Sql = DELIVERED): Statement<PurgedEvents> {
  return new Statement<PurgedEvents>(
    'purge-events',
    sql`
  with instant as (
    select least(${placeholder('now')}::timestamptz, now())
             - make_interval(secs => ${placeholder('retentionSeconds')}::integer) as cutoff
  ), looked_at as (
    select e.number, e.occurred_at < instant.cutoff and e.number <= coalesce((${keptAfter}), e.number) as is_over
      from instant cross join event e
     where e.number > (select expired_number from event_log)
     order by e.number limit ${placeholder('countMax')}::integer
  ), due as (
    select number from looked_at
     where number < coalesce((select min(number) from looked_at where not is_over), number + 1)
  ), expired as (
    update event_log set expired_number = greatest(expired_number, due.number)
      from (select max(number) as number from due) as due where due.number is not null
  ), purged as (
    delete from event e using due where e.number = due.number returning 1
  )
  select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`,
    { prepared: false }
  )
}
