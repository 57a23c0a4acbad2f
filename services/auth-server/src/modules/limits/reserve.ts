import {
  bytesText,
  instantText,
  isUniqueViolation,
  placeholder,
  Statement
} from '@open-payments-server/database'
import type { PaymentContent, Window } from '../../domain/limits.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import { ITEM_LIMITS } from '../grants/index.js'
import { usableTokens } from '../tokens/index.js'
import { takenEvents } from './events.js'
import { LARGEST_VALUE, type SpentColumns, spentOf, type SpentValues } from './values.js'
import { GROWN_WINDOW, RESERVATION_COLUMNS, WINDOW_COLUMNS } from './windows.js'

/** A payment to be reserved. */
export interface ReservationRequest {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  readonly content: PaymentContent
  /** See `contentHash`. */
  readonly contentHash: Buffer
  /** When it is charged; its token must not have expired by then. */
  readonly nowMs: number
}

/** A payment to be reserved in a window. */
export interface WindowRequest {
  readonly request: ReservationRequest
  readonly window: Window
  /**
   * Whether payments can be charged to no other access item of the grant: then the window alone gives the spent amounts.
   */
  readonly onlyItem: boolean
}

/** The result of an attempt to reserve in a window. */
export type WindowResult =
  /** `spent` is undefined if the window alone does not give it: `completeSpent` does. */
  | { readonly kind: 'reserved'; readonly grantId: string; readonly spent: SpentValues | undefined }
  /** No room, the token is not active, its client is frozen, its grant paused, or something is recorded under the payment id. */
  | { readonly kind: 'none' }
  /** Undecided because of the other payments: to be tried alone. Never the result of one alone. */
  | { readonly kind: 'undecided' }

/**
 * The hot path of payments: one statement, and not a transaction of several, because the rows of windows are locked only
 * for its duration (a busy grant is one row).
 *
 * The counter is updated first, and the reservation is written from the updated row. In another order, counter and
 * reservations could diverge when twins race: here, a twin that passed `not exists` fails on the primary key, and the whole
 * statement is undone.
 *
 * What is cached of a token may be from before its limits were lowered: this statement alone decides by those in force.
 *
 * Payments that do not fit the windows on their own are left out of the sums. A statement can change a row only once, so
 * each window grows by the sum of its payments, if that fits; the spent amounts of a payment do not include the payments
 * after it. Amounts received in another asset than the window's are not in its counter, so spent amounts must be summed up
 * afterwards: such a payment is reserved alone.
 *
 * To avoid deadlocks, all windows are locked before any reservation is written, because they are sorted first; both in the
 * order of their keys, as ending does.
 */
const RESERVE = new Statement<ReservedRow>(
  'reserve',
  Prisma.sql`
  with wanted as (
    select *
      from json_to_recordset(${placeholder('wanted')}::json)
        as w(place integer, payment_id uuid, token_hash bytea, content_hash bytea, access_item_id uuid, interval_index bigint,
             only_item boolean, debit_value numeric, debit_code text, debit_scale smallint, receive_value numeric,
             receive_code text, receive_scale smallint, wallet_address text, receiver text, asked_at timestamptz)),
  ${usableTokens},
  possible as (
    select a.*, i.grant_id, living.grant_updated_at, i.limit_debit_value, i.limit_receive_value
      from wanted a
      join living using (token_hash, asked_at)
      join ${ITEM_LIMITS} i on i.access_item_id = a.access_item_id and i.grant_id = living.grant_id
      left join limit_window w on w.access_item_id = a.access_item_id and w.interval_index = a.interval_index
     where not exists (select 1 from reservation r where r.payment_id = a.payment_id)
       and not living.client_frozen and not living.grant_paused
       and (i.limit_debit_code is null or i.limit_debit_code = a.debit_code and i.limit_debit_scale = a.debit_scale)
       and a.debit_value <= coalesce(i.limit_debit_value, ${LARGEST_VALUE})
       and a.receive_value <= coalesce(i.limit_receive_value, ${LARGEST_VALUE})
       and (w.access_item_id is null or (
            w.debit_code = a.debit_code and w.debit_scale = a.debit_scale
            and w.spent_debit_value + a.debit_value
                  <= coalesce(least(w.limit_debit_value, i.limit_debit_value), ${LARGEST_VALUE})
            and (w.receive_code <> a.receive_code or w.receive_scale <> a.receive_scale
                 or w.spent_receive_value + a.receive_value
                      <= coalesce(least(w.limit_receive_value, i.limit_receive_value), ${LARGEST_VALUE}))))),
  room as (
    insert into limit_window as w (${WINDOW_COLUMNS})
    select access_item_id, interval_index, sum(debit_value), sum(receive_value), debit_code, debit_scale,
           receive_code, receive_scale, limit_debit_value, limit_receive_value, max(asked_at)
      from possible
     group by access_item_id, interval_index, debit_code, debit_scale, receive_code, receive_scale,
              limit_debit_value, limit_receive_value
    having sum(debit_value) <= coalesce(limit_debit_value, ${LARGEST_VALUE})
       and sum(receive_value) <= coalesce(limit_receive_value, ${LARGEST_VALUE})
     order by access_item_id, interval_index
    ${GROWN_WINDOW}
    returning w.access_item_id, w.interval_index, w.spent_debit_value, w.spent_receive_value,
              w.receive_code as counted_code, w.receive_scale as counted_scale),
  taken as (
    select p.*, p.receive_code = room.counted_code and p.receive_scale = room.counted_scale as receive_counted,
           room.spent_debit_value - coalesce(sum(p.debit_value) over later, 0) as spent_debit_value,
           room.spent_receive_value - coalesce(sum(p.receive_value) over later, 0) as spent_receive_value
      from possible p join room using (access_item_id, interval_index)
    window later as (partition by access_item_id, interval_index order by place
                     rows between 1 following and unbounded following)),
  reserved as (
    insert into reservation (${RESERVATION_COLUMNS})
    select payment_id, 'open', content_hash, grant_id, access_item_id, interval_index,
           debit_value, debit_code, debit_scale, receive_value, receive_code, receive_scale, receive_counted,
           case when only_item and receive_counted then spent_debit_value end,
           case when only_item and receive_counted then spent_receive_value end,
           wallet_address, receiver, asked_at
      from taken
     order by payment_id
    returning payment_id, spent_debit_value, spent_receive_value),
  ${appended(takenEvents)}
  select p.place, p.grant_id, r.payment_id is not null as reserved, r.spent_debit_value::text,
         r.spent_receive_value::text
    from possible p left join reserved r using (payment_id)`
)

/** For a payment that may have room. */
interface ReservedRow extends SpentColumns {
  /** Of its request. */
  readonly place: number
  readonly grant_id: string
  readonly reserved: boolean
}

const NONE: WindowResult = { kind: 'none' }
const UNDECIDED: WindowResult = { kind: 'undecided' }

/**
 * Reserves in the windows that have room for all of their payments, and records it. A window with room for only some of
 * them is left unchanged, and so is one whose payments are received in several assets.
 *
 * @param requests of different payments; several only for windows that alone give the spent amounts
 * @returns the result of each, in order
 */
export async function reserve(
  on: Queries,
  requests: readonly WindowRequest[]
): Promise<readonly WindowResult[]> {
  const mixed = findMixedWindows(requests)
  const wanted = requests.filter(({ window }) => !mixed.has(keyOf(window)))
  if (wanted.length === 0) return requests.map(() => UNDECIDED)
  const results = await reserveAll(on, wanted)
  return requests.map((request) => results.get(request) ?? UNDECIDED)
}

async function reserveAll(
  on: Queries,
  wanted: readonly WindowRequest[]
): Promise<ReadonlyMap<WindowRequest, WindowResult>> {
  // Without others beside it, a payment that was not reserved found no room.
  const lost = wanted.length === 1 ? NONE : UNDECIDED
  try {
    const rows = await RESERVE.rows(on, { wanted: JSON.stringify(wanted.map(toRecord)) })
    const rowOf = new Map(rows.map((row) => [row.place, row]))
    return new Map(wanted.map((request, place) => [request, resultOf(rowOf.get(place), lost)]))
  } catch (error) {
    // A twin was recorded meanwhile, and the whole statement was undone.
    if (isUniqueViolation(error, 'reservation_pkey')) return new Map(wanted.map((request) => [request, lost]))
    throw error
  }
}

function resultOf(row: ReservedRow | undefined, lost: WindowResult): WindowResult {
  if (row === undefined) return NONE
  return row.reserved ? { kind: 'reserved', grantId: row.grant_id, spent: spentOf(row) } : lost
}

/** Numbers of arbitrary size are sent as text. */
function toRecord({ request, window, onlyItem }: WindowRequest, place: number): object {
  const { tokenHash, debitAmount, receiveAmount, walletAddress, receiver } = request.content
  return {
    place,
    payment_id: request.paymentId,
    token_hash: bytesText(tokenHash),
    content_hash: bytesText(request.contentHash),
    access_item_id: window.accessItemId,
    interval_index: window.intervalIndex.toString(),
    only_item: onlyItem,
    debit_value: debitAmount.value.toString(),
    debit_code: debitAmount.asset.code,
    debit_scale: debitAmount.asset.scale,
    receive_value: receiveAmount.value.toString(),
    receive_code: receiveAmount.asset.code,
    receive_scale: receiveAmount.asset.scale,
    wallet_address: walletAddress,
    receiver,
    asked_at: instantText(request.nowMs)
  }
}

/** The windows with payments in different assets: these cannot be summed up. */
function findMixedWindows(requests: readonly WindowRequest[]): ReadonlySet<string> {
  const assetsOf = new Map<string, string>()
  const mixed = new Set<string>()
  for (const { request, window } of requests) {
    const { debitAmount, receiveAmount } = request.content
    const assets = JSON.stringify(
      [debitAmount, receiveAmount].map(({ asset: { code, scale } }) => [code, scale])
    )
    const key = keyOf(window)
    if ((assetsOf.get(key) ?? assets) !== assets) mixed.add(key)
    assetsOf.set(key, assets)
  }
  return mixed
}

function keyOf({ accessItemId, intervalIndex }: Window): string {
  return `${accessItemId}/${String(intervalIndex)}`
}
