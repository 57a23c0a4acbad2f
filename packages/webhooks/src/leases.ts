import { placeholder, type RawQueries, sql, Statement } from '@open-payments-server/database'
import { appended } from '@open-payments-server/events'
import type { DisabledCause, EndpointSettings, WebhookAttempt } from './endpoint.js'

/** How long a process that does not renew it keeps the lease of an endpoint, in seconds. */
export const LEASE_SECONDS = 15
/** Maximum number of endpoints that one statement leases, so that processes that start together share them. */
export const LEASED_TOGETHER_MAX = 100

/** An event that an endpoint must still get. */
export interface Undelivered {
  /** Number of the event. */
  readonly number: bigint
  readonly subjectId: string
  /** Number of attempts so far. */
  readonly attempts: number
  readonly firstAttemptedAtMs: number | undefined
  /** When it is tried again; undefined for at once, or as soon as an earlier one of its subject is delivered. */
  readonly dueAtMs: number | undefined
}

/** A secret that signs, encrypted. */
export interface SealedSecret {
  readonly sealed: string
  /** It signs no more from then on, however long the endpoint stays leased; undefined for the newest. */
  readonly untilMs: number | undefined
}

/** An endpoint that this process delivers to. */
export interface LeasedEndpoint extends EndpointSettings {
  readonly id: string
  /** The secrets that sign, the newest first. */
  readonly sealedSecrets: readonly SealedSecret[]
  /** Number of the last event that was considered: delivered, passed over, or among the undelivered. */
  readonly reachedNumber: bigint
  readonly failingSinceMs: number | undefined
  /** In the order of their numbers. */
  readonly undelivered: readonly Undelivered[]
}

interface UndeliveredRow {
  readonly number: string
  readonly subjectId: string
  readonly attempts: number
  readonly firstAttempt: string | null
  readonly due: string | null
}

interface LeaseRow {
  readonly id: string
  /** Null of a lease that was only renewed; so are the others. */
  readonly url: string | null
  readonly types: readonly string[]
  readonly wallet_address: string | null
  readonly secret: string
  readonly previous_secret: string | null
  readonly previous_until: string | null
  readonly reached_number: string
  readonly failing_since: string | null
  readonly undelivered: readonly UndeliveredRow[]
}

const UNTIL = sql`now() + make_interval(secs => ${LEASE_SECONDS})`

/**
 * The clock of the database decides, so that those of processes may differ. Endpoints are locked in the order of their ids, here and
 * where progress is recorded: otherwise the two could wait for each other.
 */
const LEASE = new Statement<LeaseRow>(
  'lease-webhook-endpoints',
  sql`
  with held as (
    select id from webhook_endpoint
     where leased_by = ${placeholder('holder')}::uuid and id = any(${placeholder('held')}::uuid[]) and disabled_cause is null
     order by id for no key update
  ), renewed as (
    update webhook_endpoint e set leased_until = ${UNTIL} from held where e.id = held.id
    returning e.id
  ), free as (
    select id from webhook_endpoint
     where disabled_cause is null and coalesce(leased_until <= now(), true) and not (id = any(${placeholder('held')}::uuid[]))
     order by id limit ${LEASED_TOGETHER_MAX} for update skip locked
  ), leased as (
    update webhook_endpoint e set leased_by = ${placeholder('holder')}::uuid, leased_until = ${UNTIL} from free where e.id = free.id
    returning e.*
  )
  select id, null as url, null::json as types, null as wallet_address, null as secret, null as previous_secret, null as previous_until,
         null as reached_number, null as failing_since, null::json as undelivered from renewed
  union all
  select l.id, l.url, to_json(l.types) as types, l.wallet_address, l.secret,
         case when l.previous_until > now() then l.previous_secret end, l.previous_until::text, l.reached_number::text, l.failing_since::text,
         (select coalesce(json_agg(json_build_object('number', d.number::text, 'subjectId', d.subject_id, 'attempts', d.attempts,
                   'firstAttempt', d.first_attempted_at, 'due', d.due_at) order by d.number), '[]')
            from webhook_delivery d where d.endpoint_id = l.id and d.given_up_at is null)
    from leased l`
)

/** The leases of a process. */
export interface Leases {
  /** Ids of the endpoints that were held and still are. */
  readonly renewed: ReadonlySet<string>
  /** Endpoints that are held from now on. */
  readonly leased: readonly LeasedEndpoint[]
}

/**
 * Renews the leases of a process, and takes those that nobody holds.
 *
 * @param holder id of the process (UUID)
 * @param held ids of the endpoints that it holds
 */
export async function leaseEndpoints(
  on: RawQueries,
  holder: string,
  held: readonly string[]
): Promise<Leases> {
  const rows = await LEASE.rows(on, { holder, held: [...held] })
  return {
    renewed: new Set(rows.filter(({ url }) => url === null).map(({ id }) => id)),
    leased: rows.flatMap((row) => (row.url === null ? [] : [leasedEndpoint(row, row.url)]))
  }
}

function leasedEndpoint(row: LeaseRow, url: string): LeasedEndpoint {
  return {
    id: row.id,
    url,
    types: row.types,
    walletAddress: row.wallet_address ?? undefined,
    sealedSecrets: sealedSecretsOf(row),
    reachedNumber: BigInt(row.reached_number),
    failingSinceMs: row.failing_since === null ? undefined : Date.parse(row.failing_since),
    undelivered: row.undelivered.map(({ number, subjectId, attempts, firstAttempt, due }) => ({
      number: BigInt(number),
      subjectId,
      attempts,
      firstAttemptedAtMs: firstAttempt === null ? undefined : Date.parse(firstAttempt),
      dueAtMs: due === null ? undefined : Date.parse(due)
    }))
  }
}

function sealedSecretsOf({
  secret,
  previous_secret: previous,
  previous_until: until
}: LeaseRow): SealedSecret[] {
  const newest = { sealed: secret, untilMs: undefined }
  return previous === null || until === null
    ? [newest]
    : [newest, { sealed: previous, untilMs: Date.parse(until) }]
}

const RELEASE = new Statement(
  'release-webhook-endpoints',
  sql`
  with held as (
    select id from webhook_endpoint
     where leased_by = ${placeholder('holder')}::uuid and id = any(${placeholder('held')}::uuid[])
     order by id for no key update
  )
  update webhook_endpoint e set leased_by = null, leased_until = null from held where e.id = held.id`
)

/** Gives back leases of a process, so that nobody need wait for their end. */
export async function releaseEndpoints(
  on: RawQueries,
  holder: string,
  held: readonly string[]
): Promise<void> {
  await RELEASE.rows(on, { holder, held: [...held] })
}

/** What a process did for an endpoint that it holds. */
export interface Progress {
  readonly endpointId: string
  readonly reachedNumber: bigint
  readonly failingSinceMs: number | undefined
  /** Set to disable it. */
  readonly disabledCause: DisabledCause | undefined
  /** Numbers of events that are not undelivered any more. */
  readonly deliveredNumbers: readonly bigint[]
  /** Events that now are, or are in another way. */
  readonly undelivered: readonly Undelivered[]
  /** Events that are no longer tried. */
  readonly givenUp: readonly Undelivered[]
  readonly attempts: readonly WebhookAttempt[]
}

/** Of an endpoint that this process no longer holds nothing is recorded: its next holder does it all again. */
const RECORD = new Statement<{ readonly id: string }>(
  'record-webhook-deliveries',
  sql`
  with progress as (
    select * from json_to_recordset(${placeholder('progress')}::json)
      as (endpoint_id uuid, reached_number bigint, failing_since timestamptz, disabled_cause text)
  ), held as (
    select e.id from webhook_endpoint e
     where e.id = any (array(select endpoint_id from progress)) and e.leased_by = ${placeholder('holder')}::uuid
       and e.disabled_cause is null
     order by e.id for no key update
  ), recorded as (
    update webhook_endpoint e
       set reached_number = p.reached_number, failing_since = p.failing_since, disabled_cause = p.disabled_cause,
           disabled_at = case when p.disabled_cause is not null then now() end
      from progress p join held on held.id = p.endpoint_id
     where e.id = held.id
    returning e.id, e.disabled_cause, e.disabled_at
  ), delivered as (
    delete from webhook_delivery d
     using json_to_recordset(${placeholder('delivered')}::json) as t(endpoint_id uuid, number bigint), recorded r
     where d.endpoint_id = t.endpoint_id and d.number = t.number and r.id = t.endpoint_id
  ), undelivered as (
    insert into webhook_delivery (endpoint_id, number, subject_id, attempts, first_attempted_at, due_at, given_up_at)
    select u.endpoint_id, u.number, u.subject_id, u.attempts, u.first_attempted_at, u.due_at, u.given_up_at
      from json_to_recordset(${placeholder('undelivered')}::json)
        as u(endpoint_id uuid, number bigint, subject_id uuid, attempts integer, first_attempted_at timestamptz, due_at timestamptz,
             given_up_at timestamptz)
      join recorded r on r.id = u.endpoint_id
    on conflict (endpoint_id, number) do update
       set attempts = excluded.attempts, first_attempted_at = excluded.first_attempted_at, due_at = excluded.due_at,
           given_up_at = excluded.given_up_at
  ), attempted as (
    insert into webhook_attempt (endpoint_id, event_id, event_type, attempted_at, duration_ms, status, failure)
    select a.endpoint_id, a.event_id, a.event_type, a.attempted_at, a.duration_ms, a.status, a.failure
      from json_to_recordset(${placeholder('attempts')}::json)
        as a(endpoint_id uuid, event_id uuid, event_type text, attempted_at timestamptz, duration_ms integer, status integer, failure text)
      join recorded r on r.id = a.endpoint_id
  ), ${appended(sql`
    select 'webhook_endpoint.disabled' as type, id as subject_id, json_build_object('cause', disabled_cause) as change,
           disabled_at as occurred_at
      from recorded where disabled_cause is not null`)}
  select id from recorded`
)

/**
 * Records what a process did for endpoints, each at most once.
 *
 * @returns ids of the endpoints that it still held: of the others nothing was recorded
 */
export async function recordProgress(
  on: RawQueries,
  holder: string,
  progress: readonly Progress[],
  nowMs: number
): Promise<ReadonlySet<string>> {
  const rows = await RECORD.rows(on, {
    holder,
    progress: JSON.stringify(
      progress.map(({ endpointId, reachedNumber, failingSinceMs, disabledCause }) => ({
        endpoint_id: endpointId,
        reached_number: reachedNumber.toString(),
        failing_since: instant(failingSinceMs),
        disabled_cause: disabledCause ?? null
      }))
    ),
    delivered: JSON.stringify(
      progress.flatMap(({ endpointId, deliveredNumbers }) =>
        deliveredNumbers.map((number) => ({ endpoint_id: endpointId, number: number.toString() }))
      )
    ),
    undelivered: JSON.stringify(
      progress.flatMap(({ endpointId, undelivered, givenUp }) => [
        ...undelivered.map((event) => undeliveredRecord(endpointId, event, null)),
        ...givenUp.map((event) => undeliveredRecord(endpointId, event, instant(nowMs)))
      ])
    ),
    attempts: JSON.stringify(
      progress.flatMap(({ endpointId, attempts }) =>
        attempts.map((attempt) => ({
          endpoint_id: endpointId,
          event_id: attempt.eventId,
          event_type: attempt.eventType,
          attempted_at: instant(attempt.attemptedAtMs),
          duration_ms: attempt.durationMs,
          status: attempt.status ?? null,
          failure: attempt.failure ?? null
        }))
      )
    )
  })
  return new Set(rows.map(({ id }) => id))
}

function undeliveredRecord(endpointId: string, event: Undelivered, givenUpAt: string | null): object {
  return {
    endpoint_id: endpointId,
    number: event.number.toString(),
    subject_id: event.subjectId,
    attempts: event.attempts,
    first_attempted_at: instant(event.firstAttemptedAtMs),
    due_at: instant(event.dueAtMs),
    given_up_at: givenUpAt
  }
}

function instant(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString()
}
