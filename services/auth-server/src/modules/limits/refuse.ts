import { instantText, placeholder, readBytes, Statement } from '@open-payments-server/database'
import { kebabCase, snakeCase } from '@open-payments-server/runtime'
import type { RefusalReason, Window } from '../../domain/limits.js'
import type { CountedAmounts } from '../../domain/remaining.js'
import { Prisma, type Queries } from '../database.js'
import { usableTokens } from '../tokens/index.js'
import { charged, chargedWindows } from './charged.js'
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
  /** What is counted in the windows to which the payment might have been charged. */
  readonly counted: readonly CountedAmounts[]
}

/** How often a refusal is retried after losing against a twin that is not visible yet. */
const ATTEMPTS_MAX = 5

const RECORDED_COLUMNS = Prisma.sql`state, content_hash, refusal_reason, grant_id, access_item_id,
  interval_index::text as interval_index, debit_value::text as debit_value, debit_code, debit_scale,
  receive_value::text as receive_value, receive_code, receive_scale, spent_debit_value::text as spent_debit_value,
  spent_receive_value::text as spent_receive_value, charged_at`

/**
 * One statement, so that a refused payment costs two in total. Always returns a row if the token is active, except for a
 * twin that was recorded after the statement began. Its columns are null when nothing is recorded.
 */
const REFUSE = new Statement<RecordedRow>(
  'refuse',
  Prisma.sql`
  with wanted as (
    select ${placeholder('paymentId')}::uuid as payment_id, ${placeholder('tokenHash')}::bytea as token_hash,
           ${placeholder('contentHash')}::bytea as content_hash, ${placeholder('reason')}::text as reason),
  ${usableTokens},
  ${charged},
  recorded as (
    insert into reservation (payment_id, state, content_hash, refusal_reason)
    select payment_id, 'refused', content_hash, reason from wanted cross join living
     where not exists (select 1 from reservation r where r.payment_id = wanted.payment_id)
    on conflict (payment_id) do nothing
    returning ${RECORDED_COLUMNS}),
  found as (
    select * from recorded
    union all
    select ${RECORDED_COLUMNS} from reservation where payment_id = (select payment_id from wanted))
  select exists (select 1 from living) as token_lives, found.*,
         (select coalesce(json_agg(json_build_object(
                   'accessItemId', w.access_item_id,
                   'spentDebitValue', w.spent_debit_value::text, 'debitCode', w.debit_code, 'debitScale', w.debit_scale,
                   'spentReceiveValue', w.spent_receive_value::text, 'receiveCode', w.receive_code, 'receiveScale', w.receive_scale)), '[]')
            from limit_window w join charged using (access_item_id, interval_index)
           where w.access_item_id = any (array(select access_item_id from charged))) as counted
    from (select) as one left join found on true`
)

interface RecordedRow extends SpentColumns, AmountColumns {
  readonly token_lives: boolean
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
interface CountedWindow {
  readonly accessItemId: string
  readonly spentDebitValue: string
  readonly debitCode: string
  readonly debitScale: number
  readonly spentReceiveValue: string
  readonly receiveCode: string
  readonly receiveScale: number
}

/**
 * Records a refusal, unless something is recorded under the payment id, and reads what is recorded then. With an inactive
 * token it records nothing: the refusal is due to the token, and the same request may be repeated with another one.
 *
 * @param candidates the windows to which the payment might have been charged
 * @returns undefined when nothing is recorded, because the token is not active
 */
export async function refuse(
  on: Queries,
  { paymentId, content, contentHash, nowMs }: ReservationRequest,
  reason: RefusalReason,
  candidates: readonly Window[]
): Promise<RecordedReservation | undefined> {
  const values = {
    paymentId,
    tokenHash: content.tokenHash,
    contentHash,
    reason: snakeCase(reason),
    ...chargedWindows(candidates),
    now: instantText(nowMs)
  }
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const [row] = await REFUSE.rows(on, values)
    if (row === undefined) throw new Error('a statement that always answers a row answered none')
    if (row.state !== null) return recordedOf(row, row.state)
    if (!row.token_lives) return undefined
    // A twin was recorded after this statement began, and the next one sees it.
  }
  throw new Error('a refusal could not be recorded, and nothing else is')
}

function recordedOf(row: RecordedRow, state: ReservationState): RecordedReservation {
  return {
    state,
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
