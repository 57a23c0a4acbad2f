import { placeholder, type RawQueries, rawSql, sql, Statement } from '@open-payments-server/database'
import { isIncarnationNew } from './epoch.js'
import type { StoredEvent } from './event.js'
import { traceParentOf } from './trace.js'

/** Why a reader cannot read on where it stands. */
export type ResyncCause =
  /** The database lost events that it has read: its timeline changed before they were copied. */
  | 'events_lost'
  /** Events that it has not read are no longer kept. */
  | 'events_expired'

/** Events after a number. */
export interface ReadEvents {
  /** In the order of their numbers. */
  readonly events: readonly StoredEvent[]
  /** Where the reader stood: the events follow this number. */
  readonly fromNumber: bigint
  /** Where the reader stands after them. */
  readonly toNumber: bigint
  /** Whether there may be more after that: events of some types are looked for in a part of all at a time. */
  readonly more: boolean
  /** Whether the reader must read the state of everything anew first: what it knows may be wrong. */
  readonly resync: ResyncCause | undefined
}

/** What to read. */
export interface EventQuery {
  /** Number of the last event that was read; undefined reads from the oldest event that is kept. */
  readonly afterNumber: bigint | undefined
  /** Only these types; all when empty. */
  readonly types: readonly string[]
  readonly countMax: number
}

/** An event as the database returns it. */
export interface EventRow {
  readonly id: string
  readonly type: string
  readonly occurred_at: Date
  readonly subject_id: string
  readonly change: Readonly<Record<string, unknown>> | null
  /** Bytes, as text. */
  readonly trace: string | null
}

interface ReadRow extends EventRow {
  /** Null when there is no event; so are the columns of the event. */
  readonly number: string | null
  readonly from_number: string
  /** Of the last event that was looked at, if fewer were found than wanted. */
  readonly reached_number: string
  readonly last_number: string
  readonly lost: boolean
  readonly expired: boolean
  /** Only known of a reader beyond the newest event: otherwise null. */
  readonly early: boolean | null
}

/**
 * Maximum number of events that one statement looks at to find those of some types: it must be over in time, however rare they are.
 */
export const LOOKED_AT_MAX = 50_000

/**
 * One statement for the events and for whether the reader may read on, so that they always agree. `limit 1` only tells the planner that
 * there is one row, so that it neither expects billions nor compiles the statement.
 */
const READ = new Statement<ReadRow>(
  'read-events',
  sql`
  with asked as (
    select ${placeholder('afterNumber')}::bigint as number
  ), standing as (
    select l.last_number, lost.after_number is not null as lost, coalesce(asked.number < l.expired_number, false) as expired,
           greatest(l.expired_number, coalesce(lost.after_number, asked.number, 0)) as from_number
      from asked cross join event_log l
      left join event_epoch lost on asked.number > lost.after_number and asked.number < lost.first_number
     limit 1
  ), reached as (
    select coalesce(case when cardinality(${placeholder('types')}::text[]) > 0 then (
             select e.number from event e where e.number > (select from_number from standing)
              order by e.number offset ${rawSql(String(LOOKED_AT_MAX - 1))} limit 1) end, s.last_number) as number
      from standing s
  ), page as (
    select e.* from event e
     where e.number > (select from_number from standing) and e.number <= (select number from reached)
       and (cardinality(${placeholder('types')}::text[]) = 0 or e.type = any(${placeholder('types')}::text[]))
     order by e.number limit ${placeholder('countMax')}::integer
  )
  select page.number::text as number, page.id, page.type, page.occurred_at, page.subject_id, page.change, page.trace,
         s.from_number::text as from_number, reached.number::text as reached_number, s.last_number::text as last_number, s.lost, s.expired,
         case when s.from_number > s.last_number then ${isIncarnationNew} end as early
    from standing s cross join reached left join page on true order by page.number`
)

/** No event of this number was ever published. */
export class NumberAhead extends Error {}

/**
 * A reader stands beyond the newest event of a database that nobody has published from since it was restored, or promoted: whether
 * it has read events that are lost is known in a moment.
 */
export class TimelineUnknown extends Error {}

/**
 * Reads events after a number, with one statement.
 *
 * @throws NumberAhead for a number beyond that of the newest event
 * @throws TimelineUnknown for such a number, just after a failover
 */
export async function readEvents(
  on: RawQueries,
  { afterNumber, types, countMax }: EventQuery
): Promise<ReadEvents> {
  const rows = await READ.rows(on, {
    afterNumber: afterNumber?.toString() ?? null,
    types: [...types],
    countMax
  })
  const [standing] = rows
  if (standing === undefined) throw new Error('a statement that always answers a row answered none')
  const [fromNumber, lastNumber] = [BigInt(standing.from_number), BigInt(standing.last_number)]
  if (standing.early === true) throw new TimelineUnknown('nobody has published on this timeline yet')
  if (fromNumber > lastNumber) throw new NumberAhead('no such event was published')
  const events = rows.flatMap((row) => (row.number === null ? [] : [storedEvent(row, row.number)]))
  const isFull = events.length === countMax
  const reachedNumber = BigInt(standing.reached_number)
  return {
    events,
    fromNumber,
    // Events of other types are passed over for good.
    toNumber: isFull ? (events.at(-1)?.number ?? fromNumber) : reachedNumber,
    more: isFull || reachedNumber < lastNumber,
    resync: standing.lost ? 'events_lost' : standing.expired ? 'events_expired' : undefined
  }
}

/** Reads a row. */
export function storedEvent(row: EventRow, number: string): StoredEvent {
  return {
    number: BigInt(number),
    id: row.id,
    type: row.type,
    occurredAtMs: row.occurred_at.getTime(),
    subjectId: row.subject_id,
    change: row.change ?? undefined,
    traceParent: row.trace === null ? undefined : traceParentOf(row.trace)
  }
}

const BY_NUMBER = new Statement<EventRow & { readonly number: string }>(
  'read-events-by-number',
  sql`
  select number::text as number, id, type, occurred_at, subject_id, change, trace from event
   where number = any(${placeholder('numbers')}::bigint[]) order by event.number`
)

/** Reads events by their numbers, in their order. Those that are no longer kept are missing. */
export async function readEventsByNumber(
  on: RawQueries,
  numbers: readonly bigint[]
): Promise<readonly StoredEvent[]> {
  if (numbers.length === 0) return []
  const rows = await BY_NUMBER.rows(on, { numbers: numbers.map(String) })
  return rows.map((row) => storedEvent(row, row.number))
}

const NEWEST = new Statement<{ number: string }>(
  'read-newest-event-number',
  sql`select last_number::text as number from event_log`
)

/** The number of the newest event: where a reader stands that wants only what is published from now on. */
export async function readNewestNumber(on: RawQueries): Promise<bigint> {
  const [row] = await NEWEST.rows(on, {})
  if (row === undefined) throw new Error('the log of events has no row')
  return BigInt(row.number)
}
