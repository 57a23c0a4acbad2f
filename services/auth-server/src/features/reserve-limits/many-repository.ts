import { UINT64_MAX } from '@open-payments-server/amounts'
import { isUniqueViolation } from '@open-payments-server/database'
import type pg from 'pg'
import type { Window } from '../../domain/limits.js'
import type { ReservationRequest, SpentValues } from './repository.js'

/** A payment that can be charged to one window only. */
export interface WindowRequest {
  readonly request: ReservationRequest
  readonly window: Window
}

/** What became of an attempt to take room for a payment among others. */
export type ReserveManyResult =
  | { readonly outcome: 'reserved'; readonly grantId: string; readonly spent: SpentValues }
  /** No room, the token is not alive, or something is recorded under the payment id. */
  | { readonly outcome: 'none' }
  /** Nothing was decided: it is to be tried alone. */
  | { readonly outcome: 'undecided' }

/** Records many reservations at a time. */
export interface ReserveManyRepository {
  /**
   * Takes room in windows that have it for all that ask, and records it. A window with room for some of them only is left as
   * it is, and so is one whose payments are received in several assets.
   *
   * @param requests of grants with one access item that payments can be charged to; of different payments
   * @param now when tokens must not have expired yet
   * @returns what became of each, in their order
   */
  reserveMany(requests: readonly WindowRequest[], now: Date): Promise<readonly ReserveManyResult[]>
}

const UINT64 = UINT64_MAX.toString()

/**
 * What `RESERVE` does for one payment, for many: prepared on the pool, and in the same order, counter first. A twin that
 * slipped past `not exists` fails on the primary key, and all of the statement is undone.
 *
 * What cannot be reserved as the windows stand, whatever the others ask for, is left out of the sums. A row can be changed
 * once by a statement, so each window grows by the sum of what asks for it, if that fits; what the payments after it in the
 * order of asking take is not spent yet when a payment is reserved.
 *
 * Whether a token lives is read from the reason why it ended, and not from when: no plan then goes by the index of all that live.
 *
 * All windows are locked before any reservation is written, for these are sorted first; both in the order of their keys, as
 * ending many does. So of two statements that want the same rows one waits for the other, and never each for the other.
 */
const RESERVE_MANY = `
  with asked as (
    select * from unnest($2::uuid[], $3::bytea[], $4::bytea[], $5::uuid[], $6::bigint[],
                         $7::numeric[], $8::text[], $9::smallint[], $10::numeric[], $11::text[], $12::smallint[],
                         $13::text[], $14::text[], $15::timestamptz[])
      with ordinality as a (payment_id, token_hash, content_hash, access_item_id, interval_index,
                            debit, debit_code, debit_scale, receive, receive_code, receive_scale,
                            wallet_address, receiver, charged_at, place)),
  possible as (
    select a.*, i.grant_id, i.limit_debit_value, i.limit_receive_value
      from asked a
      join access_token t on t.value_hash = a.token_hash
      join grant_request g on g.id = t.grant_id
      join access_item i on i.id = a.access_item_id and i.grant_id = g.id
      left join limit_window w on w.access_item_id = a.access_item_id and w.interval_index = a.interval_index
     where t.value_hash = any ($3) and t.end_reason is null and t.expires_at > $1 and g.state = 'issued'
       and not exists (select 1 from reservation r where r.payment_id = a.payment_id)
       and a.debit <= coalesce(i.limit_debit_value, ${UINT64})
       and a.receive <= coalesce(i.limit_receive_value, ${UINT64})
       and (w.access_item_id is null or (
            w.debit_code = a.debit_code and w.debit_scale = a.debit_scale
            and w.debited + a.debit <= coalesce(w.debit_cap, ${UINT64})
            and (w.receive_code <> a.receive_code or w.receive_scale <> a.receive_scale
                 or w.received + a.receive <= coalesce(w.receive_cap, ${UINT64}))))),
  room as (
    insert into limit_window as w (access_item_id, interval_index, debited, received, debit_code, debit_scale,
                                   receive_code, receive_scale, debit_cap, receive_cap)
    select access_item_id, interval_index, sum(debit), sum(receive), debit_code, debit_scale,
           receive_code, receive_scale, limit_debit_value, limit_receive_value
      from possible
     group by access_item_id, interval_index, debit_code, debit_scale, receive_code, receive_scale,
              limit_debit_value, limit_receive_value
    having sum(debit) <= coalesce(limit_debit_value, ${UINT64})
       and sum(receive) <= coalesce(limit_receive_value, ${UINT64})
     order by access_item_id, interval_index
    on conflict (access_item_id, interval_index) do update
       set debited = w.debited + excluded.debited, received = w.received + excluded.received
     where w.debit_code = excluded.debit_code and w.debit_scale = excluded.debit_scale
       and w.receive_code = excluded.receive_code and w.receive_scale = excluded.receive_scale
       and w.debited + excluded.debited <= coalesce(w.debit_cap, ${UINT64})
       and w.received + excluded.received <= coalesce(w.receive_cap, ${UINT64})
    returning w.access_item_id, w.interval_index, w.debited, w.received),
  reserved as (
    insert into reservation (payment_id, state, content_hash, grant_id, access_item_id, interval_index,
                             debit, debit_code, debit_scale, receive, receive_code, receive_scale, receive_counted,
                             spent_debit, spent_receive, wallet_address, receiver, charged_at)
    select payment_id, 'open', content_hash, grant_id, access_item_id, interval_index,
           debit, debit_code, debit_scale, receive, receive_code, receive_scale, true,
           room.debited - coalesce(sum(debit) over later, 0), room.received - coalesce(sum(receive) over later, 0),
           wallet_address, receiver, charged_at
      from possible join room using (access_item_id, interval_index)
    window later as (partition by access_item_id, interval_index order by place
                     rows between 1 following and unbounded following)
     order by payment_id
    returning payment_id, spent_debit, spent_receive)
  select p.place, p.grant_id, r.spent_debit, r.spent_receive
    from possible p left join reserved r using (payment_id)`

interface PossibleRow {
  readonly place: string
  readonly grant_id: string
  /** null unless it was reserved. */
  readonly spent_debit: string | null
  readonly spent_receive: string | null
}

const UNDECIDED: ReserveManyResult = { outcome: 'undecided' }

export function createReserveManyRepository(pool: pg.Pool): ReserveManyRepository {
  return {
    async reserveMany(requests, now) {
      const mixed = findMixedWindows(requests)
      const asked = requests.filter(({ window }) => !mixed.has(keyOf(window)))
      if (asked.length === 0) return requests.map(() => UNDECIDED)
      const results = await reserveAll(pool, asked, now)
      return requests.map((request) => results?.get(request) ?? UNDECIDED)
    }
  }
}

/** @returns undefined when nothing was decided */
async function reserveAll(
  pool: pg.Pool,
  asked: readonly WindowRequest[],
  now: Date
): Promise<ReadonlyMap<WindowRequest, ReserveManyResult> | undefined> {
  const column = <Value>(valueOf: (one: WindowRequest) => Value): Value[] => asked.map(valueOf)
  try {
    const { rows } = await pool.query<PossibleRow>({
      name: 'reserve-many',
      text: RESERVE_MANY,
      values: [
        now,
        column(({ request }) => request.paymentId),
        column(({ request }) => request.content.tokenHash),
        column(({ request }) => request.contentHash),
        column(({ window }) => window.accessItemId),
        column(({ window }) => window.intervalIndex),
        column(({ request }) => request.content.debitAmount.value),
        column(({ request }) => request.content.debitAmount.asset.code),
        column(({ request }) => request.content.debitAmount.asset.scale),
        column(({ request }) => request.content.receiveAmount.value),
        column(({ request }) => request.content.receiveAmount.asset.code),
        column(({ request }) => request.content.receiveAmount.asset.scale),
        column(({ request }) => request.content.walletAddress),
        column(({ request }) => request.content.receiver),
        column(({ request }) => request.now)
      ]
    })
    const results = new Map<WindowRequest, ReserveManyResult>(asked.map((one) => [one, { outcome: 'none' }]))
    for (const row of rows) results.set(asked[Number(row.place) - 1] as WindowRequest, resultOf(row))
    return results
  } catch (error) {
    if (isUniqueViolation(error, 'reservation_pkey')) return undefined
    throw error
  }
}

function resultOf({ grant_id, spent_debit, spent_receive }: PossibleRow): ReserveManyResult {
  if (spent_debit === null || spent_receive === null) return UNDECIDED
  const spent = { debit: BigInt(spent_debit), receive: BigInt(spent_receive) }
  return { outcome: 'reserved', grantId: grant_id, spent }
}

/** The windows that payments in different assets ask for: those are not to be added up. */
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
