import { placeholder, type RawQueries, sql, Statement } from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { DisabledCause, EndpointSettings, WebhookAttempt, WebhookEndpoint } from './endpoint.js'
import type { AttemptFailure } from './endpoint.js'

/** How long the secret before the last rotation still signs, in seconds. */
export const ROTATION_SECONDS = 24 * 3_600

interface EndpointRow {
  readonly id: string
  readonly url: string
  readonly types: readonly string[]
  readonly wallet_address: string | null
  readonly created_at: Date
  readonly disabled_cause: DisabledCause | null
  readonly disabled_at: Date | null
  readonly failing_since: string | null
  readonly undelivered: number
  readonly given_up: number
}

const ENDPOINT_COLUMNS = sql`
  e.id, e.url, e.types, e.wallet_address, e.created_at, e.disabled_cause, e.disabled_at, e.failing_since::text as failing_since,
  (select count(*) from webhook_delivery d where d.endpoint_id = e.id and d.given_up_at is null)::integer as undelivered,
  (select count(*) from webhook_delivery d where d.endpoint_id = e.id and d.given_up_at is not null)::integer as given_up`

function readEndpoint(row: EndpointRow): WebhookEndpoint {
  const { disabled_cause: cause, disabled_at: disabledAt } = row
  return {
    id: row.id,
    url: row.url,
    types: row.types,
    walletAddress: row.wallet_address ?? undefined,
    createdAtMs: row.created_at.getTime(),
    disabled: cause === null || disabledAt === null ? undefined : { cause, atMs: disabledAt.getTime() },
    failingSinceMs: row.failing_since === null ? undefined : Date.parse(row.failing_since),
    undeliveredCount: row.undelivered,
    givenUpCount: row.given_up
  }
}

const CREATE = new Statement(
  'create-webhook-endpoint',
  sql`
  insert into webhook_endpoint (id, url, types, wallet_address, secret, reached_number, created_at)
  select ${placeholder('id')}::uuid, ${placeholder('url')}, ${placeholder('types')}::text[], ${placeholder('walletAddress')},
         ${placeholder('secret')}, last_number, ${placeholder('now')}::timestamptz
    from event_log`,
  { prepared: false }
)

/** Stores an endpoint, which gets what is published from now on. */
export async function createEndpoint(
  on: RawQueries,
  endpoint: EndpointSettings & { readonly id: string; readonly sealedSecret: string },
  nowMs: number
): Promise<void> {
  const { id, url, types, walletAddress = null, sealedSecret } = endpoint
  const now = new Date(nowMs).toISOString()
  await CREATE.rows(on, { id, url, types: [...types], walletAddress, secret: sealedSecret, now })
}

const LIST = new Statement<EndpointRow>(
  'list-webhook-endpoints',
  sql`
  select ${ENDPOINT_COLUMNS} from webhook_endpoint e
   where (e.created_at, e.id) > (coalesce(${placeholder('afterCreatedAt')}::timestamptz, '-infinity'), coalesce(${placeholder('afterId')}::uuid, '00000000-0000-0000-0000-000000000000'))
   order by e.created_at, e.id limit ${placeholder('countMax')}::integer`,
  { prepared: false }
)

/** Lists endpoints, the oldest first. */
export async function listEndpoints(
  on: RawQueries,
  { after, countMax }: { readonly after: PageEnd | undefined; readonly countMax: number }
): Promise<readonly WebhookEndpoint[]> {
  const afterCreatedAt = after === undefined ? null : new Date(after.createdAtMs).toISOString()
  return (await LIST.rows(on, { afterCreatedAt, afterId: after?.id ?? null, countMax })).map(readEndpoint)
}

/** How many endpoints await an operator. */
export interface AwaitingEndpoints {
  readonly disabledCount: number
  /** Those that are not disabled, and of which the last attempt failed. */
  readonly failingCount: number
}

const COUNT_AWAITING = new Statement<{ readonly disabled: number; readonly failing: number }>(
  'count-awaiting-webhook-endpoints',
  sql`
  select count(*) filter (where disabled_at is not null)::integer as disabled,
         count(*) filter (where disabled_at is null and failing_since is not null)::integer as failing
    from webhook_endpoint`,
  { prepared: false }
)

/** Counts the endpoints that await an operator. */
export async function countAwaitingEndpoints(on: RawQueries): Promise<AwaitingEndpoints> {
  const [row] = await COUNT_AWAITING.rows(on, {})
  if (row === undefined) throw new Error('a statement that counts answered no row')
  return { disabledCount: row.disabled, failingCount: row.failing }
}

const FIND = new Statement<
  EndpointRow & { readonly secret: string; readonly previous_secret: string | null }
>(
  'find-webhook-endpoint',
  sql`
  select ${ENDPOINT_COLUMNS}, e.secret,
         case when e.previous_until > ${placeholder('now')}::timestamptz then e.previous_secret end as previous_secret
    from webhook_endpoint e where e.id = ${placeholder('id')}::uuid`,
  { prepared: false }
)

/** Finds an endpoint, and its encrypted secrets, the newest first. */
export async function findEndpoint(
  on: RawQueries,
  id: string,
  nowMs: number
): Promise<{ readonly endpoint: WebhookEndpoint; readonly sealedSecrets: readonly string[] } | undefined> {
  const [row] = await FIND.rows(on, { id, now: new Date(nowMs).toISOString() })
  if (row === undefined) return undefined
  const { secret, previous_secret: previous } = row
  return { endpoint: readEndpoint(row), sealedSecrets: previous === null ? [secret] : [secret, previous] }
}

/**
 * Whoever delivers to an endpoint that an operator changes loses its lease, so that what it does then is not recorded, and its
 * next holder reads the endpoint anew.
 */
const RELEASED = sql`leased_by = null, leased_until = null`

/** Fragments: the columns of an endpoint's settings, and what they are after a change. */
const [SETTINGS, NEW_SETTINGS, ENABLES] = [
  sql`url, types, wallet_address`,
  sql`coalesce(${placeholder('url')}, url), coalesce(${placeholder('types')}::text[], types),
      case when ${placeholder('changesWalletAddress')}::boolean then ${placeholder('walletAddress')} else wallet_address end`,
  sql`${placeholder('enable')}::boolean`
]

const UPDATE = new Statement<{ readonly id: string }>(
  'update-webhook-endpoint',
  sql`
  with endpoint as (
    update webhook_endpoint e
       set (${SETTINGS}) = row(${NEW_SETTINGS}),
           disabled_cause = case when ${ENABLES} then null else disabled_cause end,
           disabled_at = case when ${ENABLES} then null else disabled_at end,
           failing_since = case when ${ENABLES} then null else failing_since end,
           ${RELEASED}
     where id = ${placeholder('id')}::uuid
       and (row(${SETTINGS}) is distinct from row(${NEW_SETTINGS})
            or ${ENABLES} and (disabled_at is not null or failing_since is not null or exists (
              select 1 from webhook_delivery d
               where d.endpoint_id = e.id and d.given_up_at is null
                 and (d.attempts > 0 or d.first_attempted_at is not null or d.due_at is not null))))
    returning id
  ), begun_anew as (
    update webhook_delivery d set attempts = 0, first_attempted_at = null, due_at = null
      from endpoint where d.endpoint_id = endpoint.id and d.given_up_at is null and ${ENABLES}
  )
  select id from endpoint`,
  { prepared: false }
)

/** What is changed of an endpoint. What is undefined stays. */
export interface EndpointChange {
  readonly url?: string | undefined
  readonly types?: readonly string[] | undefined
  /** Null for all. */
  readonly walletAddress?: string | null | undefined
  /** Whether a disabled endpoint gets events again: all since it was disabled that are still kept. */
  readonly enable?: boolean | undefined
}

/** Changes an endpoint. @returns whether this call changed it: false when it was so already, or there is none */
export async function updateEndpoint(on: RawQueries, id: string, change: EndpointChange): Promise<boolean> {
  const rows = await UPDATE.rows(on, {
    id,
    url: change.url ?? null,
    types: change.types === undefined ? null : [...change.types],
    changesWalletAddress: change.walletAddress !== undefined,
    walletAddress: change.walletAddress ?? null,
    enable: change.enable ?? false
  })
  return rows.length === 1
}

const DISABLE = new Statement<{ readonly id: string }>(
  'disable-webhook-endpoint',
  sql`
  update webhook_endpoint
     set disabled_cause = 'operator', disabled_at = ${placeholder('now')}::timestamptz, ${RELEASED}
   where id = ${placeholder('id')}::uuid and disabled_at is null
  returning id`,
  { prepared: false }
)

/** Disables an endpoint. @returns whether this call did it: false when it was disabled already, or there is none */
export async function disableEndpoint(on: RawQueries, id: string, nowMs: number): Promise<boolean> {
  return (await DISABLE.rows(on, { id, now: new Date(nowMs).toISOString() })).length === 1
}

const DELETE = new Statement<{ readonly id: string }>(
  'delete-webhook-endpoint',
  sql`delete from webhook_endpoint where id = ${placeholder('id')}::uuid returning id`,
  { prepared: false }
)

/** Deletes an endpoint, with its attempts. @returns whether there was one */
export async function deleteEndpoint(on: RawQueries, id: string): Promise<boolean> {
  return (await DELETE.rows(on, { id })).length === 1
}

const ROTATE = new Statement<{ readonly id: string }>(
  'rotate-webhook-secret',
  sql`
  update webhook_endpoint
     set previous_secret = secret, previous_until = ${placeholder('previousUntil')}::timestamptz, secret = ${placeholder('secret')},
         ${RELEASED}
   where id = ${placeholder('id')}::uuid
  returning id`,
  { prepared: false }
)

/** Replaces the secret of an endpoint. The one before signs too, for a day. @returns whether there is an endpoint */
export async function rotateSecret(
  on: RawQueries,
  id: string,
  sealedSecret: string,
  nowMs: number
): Promise<boolean> {
  const previousUntil = new Date(nowMs + ROTATION_SECONDS * 1_000).toISOString()
  return (await ROTATE.rows(on, { id, secret: sealedSecret, previousUntil })).length === 1
}

const REPLAY_UNDELIVERED = new Statement<{ readonly count: number }>(
  'replay-undelivered-webhooks',
  sql`
  with endpoint as (
    update webhook_endpoint set ${RELEASED} where id = ${placeholder('id')}::uuid returning id
  ), replayed as (
    update webhook_delivery d set attempts = 0, first_attempted_at = null, due_at = null, given_up_at = null
      from endpoint where d.endpoint_id = endpoint.id
    returning 1
  )
  select (select count(*) from replayed)::integer as count from endpoint`,
  { prepared: false }
)

const REPLAY_AFTER = new Statement<{ readonly count: number }>(
  'replay-webhooks-after',
  sql`
  with start as (
    select coalesce((select min(number) from event where occurred_at > ${placeholder('after')}::timestamptz) - 1, (select last_number from event_log)) as number
  ), endpoint as (
    update webhook_endpoint e set reached_number = least(e.reached_number, start.number), ${RELEASED} from start
     where e.id = ${placeholder('id')}::uuid
    returning e.id, e.reached_number
  ), passed as (
    delete from webhook_delivery d using endpoint where d.endpoint_id = endpoint.id and d.number > endpoint.reached_number
  )
  select (select count(*) from event e where e.number > endpoint.reached_number)::integer as count from endpoint`,
  { prepared: false }
)

/**
 * Delivers again: with an instant, every event that happened after it; without, every event that was not delivered, now.
 *
 * @returns number of events, before filters; undefined when there is no endpoint
 */
export async function replay(
  on: RawQueries,
  id: string,
  afterMs: number | undefined
): Promise<number | undefined> {
  const [row] =
    afterMs === undefined
      ? await REPLAY_UNDELIVERED.rows(on, { id })
      : await REPLAY_AFTER.rows(on, { id, after: new Date(afterMs).toISOString() })
  return row?.count
}

interface AttemptRow {
  readonly place: string
  readonly event_id: string
  readonly event_type: string
  readonly attempted_at: Date
  readonly duration_ms: number
  readonly status: number | null
  readonly failure: AttemptFailure | null
}

const ATTEMPTS = new Statement<AttemptRow>(
  'list-webhook-attempts',
  sql`
  select a.place::text as place, a.event_id, a.event_type, a.attempted_at, a.duration_ms, a.status, a.failure from webhook_attempt a
   where a.endpoint_id = ${placeholder('id')}::uuid and a.place < ${placeholder('before')}::bigint
   order by a.place desc limit ${placeholder('countMax')}::integer`,
  { prepared: false }
)

/** Highest place of a list, of which the first page asks. */
const PLACE_MAX = (1n << 63n) - 1n

/** Lists attempts to deliver to an endpoint, the newest first. */
export async function listAttempts(
  on: RawQueries,
  id: string,
  {
    beforePlace = PLACE_MAX,
    countMax
  }: { readonly beforePlace?: bigint | undefined; readonly countMax: number }
): Promise<readonly (WebhookAttempt & { readonly place: bigint })[]> {
  const rows = await ATTEMPTS.rows(on, { id, before: beforePlace.toString(), countMax })
  return rows.map((row) => ({
    place: BigInt(row.place),
    eventId: row.event_id,
    eventType: row.event_type,
    attemptedAtMs: row.attempted_at.getTime(),
    durationMs: row.duration_ms,
    status: row.status ?? undefined,
    failure: row.failure ?? undefined
  }))
}

const EVENT_ATTEMPTS = new Statement<AttemptRow & { readonly endpoint_id: string; readonly url: string }>(
  'list-attempts-of-events',
  sql`
  select a.place::text as place, a.event_id, a.event_type, a.attempted_at, a.duration_ms, a.status, a.failure, a.endpoint_id,
         (select url from webhook_endpoint e where e.id = a.endpoint_id) as url
    from (select * from webhook_attempt where event_id = any(${placeholder('eventIds')}::uuid[])
           order by place limit ${placeholder('countMax')}::integer) a
   order by a.place`,
  { prepared: false }
)

/** Lists the attempts to deliver some events (UUID), to every endpoint, oldest first. */
export async function listAttemptsOfEvents(
  on: RawQueries,
  eventIds: readonly string[],
  countMax: number
): Promise<readonly (WebhookAttempt & { readonly endpointId: string; readonly url: string })[]> {
  if (eventIds.length === 0) return []
  const rows = await EVENT_ATTEMPTS.rows(on, { eventIds: [...eventIds], countMax })
  return rows.map((row) => ({
    endpointId: row.endpoint_id,
    url: row.url,
    eventId: row.event_id,
    eventType: row.event_type,
    attemptedAtMs: row.attempted_at.getTime(),
    durationMs: row.duration_ms,
    status: row.status ?? undefined,
    failure: row.failure ?? undefined
  }))
}
