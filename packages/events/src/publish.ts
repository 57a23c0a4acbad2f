import {
  inTransaction,
  placeholder,
  type RawQueries,
  rawSql,
  sql,
  Statement,
  type TransactionalClient
} from '@open-payments-server/database'
import { metIncarnation } from './epoch.js'

/** Maximum number of events that one transaction publishes. */
export const PUBLISHED_TOGETHER_MAX = 1_000

/** The advisory lock of whoever publishes: any number that nothing else of the database locks. */
const PUBLISHER_LOCK = rawSql('7306587041')

/**
 * Takes the lock until the transaction ends, unless another process has it. A statement of its own, so that the next one sees
 * all that the last publisher committed. Most of the time there is nothing to publish: whoever commits an event while this runs
 * wakes a publisher afterwards.
 */
const LOCK = new Statement<{ is_publisher: boolean; is_empty: boolean }>(
  'lock-event-log',
  sql`
  with publisher as materialized (
    select pg_try_advisory_xact_lock(${PUBLISHER_LOCK}) as is_this
  ), ${metIncarnation}
  select is_this as is_publisher, not exists (select 1 from event_outbox) as is_empty from publisher`
)

/** A version 7 UUID (RFC 9562 §5.7) of an instant: random, but for its first 48 bits and its version. */
const uuidV7 = (instant: typeof PUBLISHER_LOCK) => sql`
  encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from ${instant}) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`

/**
 * Moves events from the outbox to the published ones. An event that was committed later than its neighbours is numbered
 * later: numbers are given to what is committed, by one process at a time, so that whoever has read up to a number has
 * missed none below it. Within a subject, events were appended one after the other, because each change waits for the one
 * before it.
 */
const PUBLISH = new Statement<{ readonly type: string; readonly published: number }>(
  'publish-events',
  sql`
  with taken as (
    delete from event_outbox
     where place = any (array(select place from event_outbox order by place limit ${placeholder('countMax')}::integer))
    returning *
  ), counted as (
    select count(*) as taken from taken
  ), numbered as (
    update event_log set last_number = last_number + counted.taken from counted where counted.taken > 0
    returning last_number - counted.taken as before
  ), published as (
    insert into event (number, id, type, subject_id, change, occurred_at, trace)
    select numbered.before + row_number() over (order by taken.place), ${uuidV7(rawSql('taken.occurred_at'))}, taken.type,
           taken.subject_id, taken.change, taken.occurred_at, taken.trace
      from taken cross join numbered
    returning type
  )
  select type, count(*)::integer as published from published group by type`
)

/** The result of a round of publishing. */
export interface PublishedRound {
  /** Whether another process was publishing: it may have missed what was just committed. */
  readonly busy: boolean
  /** Number of events that were published, up to {@link PUBLISHED_TOGETHER_MAX}. */
  readonly published: number
  /** The same by their types. */
  readonly byType: readonly { readonly type: string; readonly published: number }[]
}

/** Publishes the oldest events of the outbox. Safe to run in several processes at once: one publishes, the others do nothing. */
export function publishEvents<Transaction extends RawQueries>(
  database: TransactionalClient<Transaction>
): Promise<PublishedRound> {
  return inTransaction(database, async (transaction) => {
    const [lock] = await LOCK.rows(transaction, {})
    if (lock?.is_publisher !== true) return { busy: true, published: 0, byType: [] }
    if (lock.is_empty) return { busy: false, published: 0, byType: [] }
    const byType = await PUBLISH.rows(transaction, { countMax: PUBLISHED_TOGETHER_MAX })
    return { busy: false, published: byType.reduce((sum, { published }) => sum + published, 0), byType }
  })
}
