import { bytesText, instantText, placeholder, readBytes, Statement } from '@open-payments-server/database'
import { kebabCase, snakeCase } from '@open-payments-server/runtime'
import type { RefusalReason, Window } from '../../domain/limits.js'
import type { CountedAmounts } from '../../domain/remaining.js'
import { Prisma, type Queries } from '../database.js'
import { usableTokens } from '../tokens/index.js'
import type { ReservationRequest } from './reserve.js'
import {
  type AmountColumns,
  amountsOf,
  type ReservationState,
  type ReservedAmounts,
  type SpentColumns,
  spentOf,
  type SpentValues
} from './values.js'

/** What is recorded under a payment id. */
export interface RecordedReservation {
  readonly state: ReservationState
  /** undefined for an id that was released before it was reserved. */
  readonly contentHash: Buffer | undefined
  readonly refusalReason: RefusalReason | undefined
  /** undefined if nothing was ever reserved. */
  readonly grantId: string | undefined
  readonly window: Window | undefined
  /** The instant that decided its interval; undefined if nothing was ever reserved. */
  readonly chargedAtMs: number | undefined
  /** The reserved amounts; undefined if nothing was ever reserved. */
  readonly amounts: ReservedAmounts | undefined
  /** undefined if nothing was ever reserved, and until it was summed up. */
  readonly spent: SpentValues | undefined
  /** Whether the token that came with the request is active. */
  readonly tokenActive: boolean
  /** When the grant last changed, in milliseconds since 1970; undefined unless the token is active. */
  readonly grantUpdatedAtMs: number | undefined
  /** What is counted in the windows to which the payment might have been charged. */
  readonly counted: readonly CountedAmounts[]
}

/** Why nothing is recorded though the token is active: what stands against it may end. */
export type Suspension = 'client-frozen' | 'grant-paused'

/** How often a refusal is retried after losing against a twin that is not visible yet. */
const ATTEMPTS_MAX = 5

const RECORDED_COLUMNS = Prisma.sql`state, content_hash, refusal_reason, grant_id, access_item_id,
  interval_index::text as interval_index, debit_value::text as debit_value, debit_code, debit_scale,
  receive_value::text as receive_value, receive_code, receive_scale, spent_debit_value::text as spent_debit_value,
  spent_receive_value::text as spent_receive_value, charged_at`

/**
 * One statement, so that refused payments cost two in total. The columns of a payment are null when nothing is recorded:
 * because its token is not active, or for a twin that was recorded after the statement began.
 *
 * Refusals are inserted in the order of ids, like reservations, to avoid deadlocks.
 */
const REFUSE = new Statement<RecordedRow>(
  'refuse',
  Prisma.sql`
  with wanted as (
    select *
      from json_to_recordset(${placeholder('wanted')}::json)
        as w(payment_id uuid, token_hash bytea, content_hash bytea, reason text, asked_at timestamptz,
             access_item_ids uuid[], interval_indexes bigint[])),
  ${usableTokens},
  recorded as (
    insert into reservation (payment_id, state, content_hash, refusal_reason)
    select payment_id, 'refused', content_hash, reason from wanted join living using (token_hash, asked_at)
     where not living.client_frozen and not living.grant_paused and not exists (select 1 from reservation r where r.payment_id = wanted.payment_id)
     order by payment_id
    on conflict (payment_id) do nothing
    returning payment_id, ${RECORDED_COLUMNS}),
  found as (
    select * from recorded
    union all
    select payment_id, ${RECORDED_COLUMNS} from reservation
     where payment_id = any (array(select payment_id from wanted)))
  select wanted.payment_id as asked_id, living.token_hash is not null as token_lives,
         coalesce(living.client_frozen, false) as client_frozen, coalesce(living.grant_paused, false) as grant_paused,
         living.grant_updated_at, found.*,
         (select coalesce(json_agg(json_build_object(
                   'accessItemId', w.access_item_id,
                   'spentDebitValue', w.spent_debit_value::text, 'debitCode', w.debit_code, 'debitScale', w.debit_scale,
                   'spentReceiveValue', w.spent_receive_value::text, 'receiveCode', w.receive_code, 'receiveScale', w.receive_scale)), '[]')
            from limit_window w
            join unnest(wanted.access_item_ids, wanted.interval_indexes) as c (access_item_id, interval_index)
                 using (access_item_id, interval_index)
           where w.access_item_id = any (wanted.access_item_ids)) as counted
    from wanted
    left join living using (token_hash, asked_at)
    left join found on found.payment_id = wanted.payment_id`
)

interface RecordedRow extends SpentColumns, AmountColumns {
  /** The payment that it answers for. */
  readonly asked_id: string
  readonly token_lives: boolean
  readonly client_frozen: boolean
  readonly grant_paused: boolean
  /** null when its token is not active. */
  readonly grant_updated_at: Date | null
  /** null when nothing is recorded that the statement can see. */
  readonly state: ReservationState | null
  readonly content_hash: string | null
  readonly refusal_reason: string | null
  readonly grant_id: string | null
  readonly access_item_id: string | null
  readonly interval_index: string | null
  readonly charged_at: Date | null
  readonly counted: readonly CountedWindow[]
}

/** What is counted in a window, as JSON. */
export interface CountedWindow {
  readonly accessItemId: string
  readonly spentDebitValue: string
  readonly debitCode: string
  readonly debitScale: number
  readonly spentReceiveValue: string
  readonly receiveCode: string
  readonly receiveScale: number
}

/** A payment to be refused. */
export interface RefusalRequest {
  readonly request: ReservationRequest
  readonly reason: RefusalReason
  /** The windows to which the payment might have been charged. */
  readonly candidates: readonly Window[]
}

/**
 * Records refusals, each unless something is recorded under its payment id, and reads what is recorded then. With an
 * inactive token it records nothing: the refusal is due to the token, and the same request may be repeated with another one. Nor
 * does it for a frozen client, whose freeze may end, or a paused grant; what is recorded is not told to them either.
 *
 * @param refusals of different payments
 * @returns in order; undefined when nothing is recorded, because the token is not active
 */
export async function refuse(
  on: Queries,
  refusals: readonly RefusalRequest[]
): Promise<readonly (RecordedReservation | Suspension | undefined)[]> {
  const rowOf = new Map<string, RecordedRow>()
  let wanted = refusals
  for (let attempt = 0; attempt < ATTEMPTS_MAX && wanted.length > 0; attempt += 1) {
    for (const row of await REFUSE.rows(on, { wanted: JSON.stringify(wanted.map(toRecord)) }))
      rowOf.set(row.asked_id, row)
    // Of the others a twin was recorded after this statement began, and the next one sees it.
    wanted = wanted.filter(({ request }) => !isDecided(rowOf.get(request.paymentId)))
  }
  if (wanted.length > 0) throw new Error('a refusal could not be recorded, and nothing else is')
  return refusals.map(({ request }) => recordedOf(rowOf.get(request.paymentId)))
}

function isDecided(row: RecordedRow | undefined): boolean {
  return (
    row !== undefined && (row.state !== null || !row.token_lives || row.client_frozen || row.grant_paused)
  )
}

function toRecord({ request, reason, candidates }: RefusalRequest): object {
  return {
    payment_id: request.paymentId,
    token_hash: bytesText(request.content.tokenHash),
    content_hash: bytesText(request.contentHash),
    reason: snakeCase(reason),
    asked_at: instantText(request.nowMs),
    access_item_ids: candidates.map(({ accessItemId }) => accessItemId),
    interval_indexes: candidates.map(({ intervalIndex }) => intervalIndex.toString())
  }
}

function recordedOf(row: RecordedRow | undefined): RecordedReservation | Suspension | undefined {
  if (row?.client_frozen === true) return 'client-frozen'
  if (row?.grant_paused === true) return 'grant-paused'
  if (row === undefined || row.state === null) return undefined
  return {
    state: row.state,
    amounts: amountsOf(row),
    contentHash: row.content_hash === null ? undefined : readBytes(row.content_hash),
    refusalReason: row.refusal_reason === null ? undefined : (kebabCase(row.refusal_reason) as RefusalReason), // only reasons are ever written there
    grantId: row.grant_id ?? undefined,
    window:
      row.access_item_id === null || row.interval_index === null
        ? undefined
        : { accessItemId: row.access_item_id, intervalIndex: BigInt(row.interval_index) },
    chargedAtMs: row.charged_at?.getTime(),
    spent: spentOf(row),
    tokenActive: row.token_lives,
    grantUpdatedAtMs: row.grant_updated_at?.getTime(),
    counted: row.counted.map(countedOf)
  }
}

function countedOf(window: CountedWindow): CountedAmounts {
  const { accessItemId, debitCode, debitScale, receiveCode, receiveScale } = window
  return {
    accessItemId,
    spentDebitAmount: {
      value: BigInt(window.spentDebitValue),
      asset: { code: debitCode, scale: debitScale }
    },
    spentReceiveAmount: {
      value: BigInt(window.spentReceiveValue),
      asset: { code: receiveCode, scale: receiveScale }
    }
  }
}
