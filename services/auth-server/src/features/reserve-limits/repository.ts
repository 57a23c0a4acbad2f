import { type Amount, UINT64_MAX } from '@open-payments-server/amounts'
import { isUniqueViolation } from '@open-payments-server/database'
import type pg from 'pg'
import type { PaymentContent, RefusalReason, Window } from '../../domain/limits.js'

/** A payment that asks for room. */
export interface ReservationRequest {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  readonly content: PaymentContent
  /** See `contentHash`. */
  readonly contentHash: Buffer
  /** When the token must not have expired yet. */
  readonly now: Date
}

/** What is recorded under a payment id. */
export interface RecordedReservation {
  readonly state: 'open' | 'settled' | 'released' | 'refused'
  /** undefined for an id that was released before it was reserved. */
  readonly contentHash: Buffer | undefined
  readonly refusalReason: RefusalReason | undefined
  /** undefined for what never held room. */
  readonly grantId: string | undefined
  readonly window: Window | undefined
  /** What it was reserved for; undefined for what never held room. */
  readonly amounts: { readonly debit: Amount; readonly receive: Amount } | undefined
  /** undefined for what never held room, and until {@link ReserveLimitsRepository.completeSpent}. */
  readonly spent: SpentValues | undefined
}

/** What was spent under a grant, in the assets of a payment. */
export interface SpentValues {
  readonly debit: bigint
  readonly receive: bigint
}

/** What became of an attempt to take room in a window. */
export type ReserveResult =
  | { readonly outcome: 'reserved'; readonly grantId: string; readonly spent: SpentValues | undefined }
  /** No room, the token is not alive, or something is recorded under the payment id. */
  | { readonly outcome: 'none' }
  /** A twin was recorded meanwhile. */
  | { readonly outcome: 'twin' }

/** Records reservations. Every call is one statement. */
export interface ReserveLimitsRepository {
  /**
   * Takes room in a window, if there is any, and records it.
   *
   * @param chargeableItemCount how many access items of the grant payments can be charged to: with more than one, what was
   *   spent is not known from the window alone
   */
  reserve(request: ReservationRequest, window: Window, chargeableItemCount: number): Promise<ReserveResult>
  /**
   * Records a refusal, unless something is recorded under the payment id, and reads what is recorded then. With a token that
   * is not alive it records nothing: the refusal is the token's, and the same request may come again with another one.
   *
   * @returns undefined when nothing is recorded, because the token is not alive
   */
  refuse(request: ReservationRequest, reason: RefusalReason): Promise<RecordedReservation | undefined>
  /**
   * Adds up what was spent in the windows, in the assets of the payment, and keeps it with its reservation.
   *
   * @returns what was kept first, when it was added up before
   */
  completeSpent(request: ReservationRequest, windows: readonly Window[]): Promise<SpentValues>
}

/** How often a refusal is tried again that lost against a twin which is not visible yet. */
const REFUSAL_ATTEMPTS_MAX = 5

const UINT64 = UINT64_MAX.toString()

/** Whether a token may be used: the token's hash is $2, the instant is $3. */
const LIVING_TOKEN = `
  select t.grant_id
    from access_token t
    join grant_request g on g.id = t.grant_id
   where t.value_hash = $2 and t.ended_at is null and t.expires_at > $3 and g.state = 'issued'`

/**
 * The hot path of payments: one statement, and not a transaction of several, because the window's row is locked only for
 * its length (a busy grant is one row). Prepared on the pool: Prisma's raw queries cost more than twice the time.
 *
 * The counter moves first and the reservation is written from the row that moved. The other orders let the counter and the
 * reservations drift apart when twins race: here, a twin that slipped past `not exists` fails on the primary key, and all
 * of its statement is undone. Everything that locks a window and a reservation locks the window first, as settling and
 * releasing do, so that no two of them can wait for each other.
 */
const RESERVE = `
  with room as (
    insert into limit_window as w (access_item_id, interval_index, debited, received, debit_code, debit_scale,
                                   receive_code, receive_scale, debit_cap, receive_cap)
    select a.id, $6, $7, $10, $8, $9, $11, $12, a.limit_debit_value, a.limit_receive_value
      from (${LIVING_TOKEN}) as token
      join access_item a on a.id = $5 and a.grant_id = token.grant_id
     where $7 <= coalesce(a.limit_debit_value, ${UINT64})
       and $10 <= coalesce(a.limit_receive_value, ${UINT64})
       and not exists (select 1 from reservation where payment_id = $1)
    on conflict (access_item_id, interval_index) do update
       set debited = w.debited + excluded.debited,
           received = w.received + case
             when w.receive_code = excluded.receive_code and w.receive_scale = excluded.receive_scale
             then excluded.received else 0 end
     where w.debit_code = excluded.debit_code and w.debit_scale = excluded.debit_scale
       and w.debited + excluded.debited <= coalesce(w.debit_cap, ${UINT64})
       and (w.receive_code <> excluded.receive_code or w.receive_scale <> excluded.receive_scale
            or w.received + excluded.received <= coalesce(w.receive_cap, ${UINT64}))
    returning w.debited, w.received, w.receive_code = $11 and w.receive_scale = $12 as receive_counted)
  insert into reservation (payment_id, state, content_hash, grant_id, access_item_id, interval_index,
                           debit, debit_code, debit_scale, receive, receive_code, receive_scale, receive_counted,
                           spent_debit, spent_receive, wallet_address, receiver, charged_at)
  select $1, 'open', $4, a.grant_id, a.id, $6, $7, $8, $9, $10, $11, $12, room.receive_counted,
         case when $13 and room.receive_counted then room.debited end,
         case when $13 and room.receive_counted then room.received end, $14, $15, $3
    from room join access_item a on a.id = $5
  returning grant_id, spent_debit, spent_receive`

const RECORDED_COLUMNS = `state, content_hash, refusal_reason, grant_id, access_item_id, interval_index,
  debit, debit_code, debit_scale, receive, receive_code, receive_scale, spent_debit, spent_receive`

/**
 * One statement, so that a refused payment costs two in all. Always a row when the token lives, but for a twin that was
 * recorded after the statement began: its columns are null when nothing is recorded.
 */
const REFUSE = `
  with living as (${LIVING_TOKEN}),
  recorded as (
    insert into reservation (payment_id, state, content_hash, refusal_reason)
    select $1, 'refused', $4, $5 from living
     where not exists (select 1 from reservation where payment_id = $1)
    on conflict (payment_id) do nothing
    returning ${RECORDED_COLUMNS}),
  found as (
    select ${RECORDED_COLUMNS} from recorded
    union all
    select ${RECORDED_COLUMNS} from reservation where payment_id = $1)
  select exists (select 1 from living) as token_lives, found.* from (select) as one left join found on true`

/**
 * A sum over two tables that is kept in a third: Prisma has no words for it. Only for grants with several access items, and
 * for payments in another receive asset than their window's, which its counter leaves out.
 */
const COMPLETE_SPENT = `
  with current_window as (
    select * from unnest($2::uuid[], $3::bigint[]) as c (access_item_id, interval_index)),
  counted as (
    select coalesce(sum(w.debited) filter (where w.debit_code = $4 and w.debit_scale = $5), 0) as debited,
           coalesce(sum(w.received) filter (where w.receive_code = $6 and w.receive_scale = $7), 0) as received
      from limit_window w join current_window using (access_item_id, interval_index)),
  uncounted as (
    select coalesce(sum(case r.state when 'settled' then r.settled_receive else r.receive end), 0) as received
      from reservation r join current_window using (access_item_id, interval_index)
     where not r.receive_counted and r.state in ('open', 'settled')
       and r.receive_code = $6 and r.receive_scale = $7)
  update reservation r
     set spent_debit = coalesce(r.spent_debit, least(counted.debited, ${UINT64})),
         spent_receive = coalesce(r.spent_receive, least(counted.received + uncounted.received, ${UINT64}))
    from counted, uncounted
   where r.payment_id = $1
  returning r.spent_debit, r.spent_receive`

interface SpentRow {
  readonly spent_debit: string | null
  readonly spent_receive: string | null
}

interface ReservedRow extends SpentRow {
  readonly grant_id: string
}

interface RecordedRow extends SpentRow {
  readonly token_lives: boolean
  /** null when nothing is recorded, as far as the statement sees. */
  readonly state: RecordedReservation['state'] | null
  readonly content_hash: Buffer | null
  readonly refusal_reason: string | null
  readonly grant_id: string | null
  readonly access_item_id: string | null
  readonly interval_index: string | null
  readonly debit: string | null
  readonly debit_code: string | null
  readonly debit_scale: number | null
  readonly receive: string | null
  readonly receive_code: string | null
  readonly receive_scale: number | null
}

export function createReserveLimitsRepository(pool: pg.Pool): ReserveLimitsRepository {
  return {
    async reserve(request, window, chargeableItemCount) {
      const { debitAmount, receiveAmount } = request.content
      const values = [
        ...identityOf(request),
        window.accessItemId,
        window.intervalIndex,
        ...[debitAmount, receiveAmount].flatMap(({ value, asset }) => [value, asset.code, asset.scale]),
        chargeableItemCount === 1,
        request.content.walletAddress,
        request.content.receiver
      ]
      try {
        const { rows } = await pool.query<ReservedRow>({ name: 'reserve', text: RESERVE, values })
        const [row] = rows
        return row === undefined
          ? { outcome: 'none' }
          : { outcome: 'reserved', grantId: row.grant_id, spent: spentOf(row) }
      } catch (error) {
        if (isUniqueViolation(error, 'reservation_pkey')) return { outcome: 'twin' }
        throw error
      }
    },

    async refuse(request, reason) {
      for (let attempt = 0; attempt < REFUSAL_ATTEMPTS_MAX; attempt += 1) {
        const { rows } = await pool.query<RecordedRow>({
          name: 'refuse',
          text: REFUSE,
          values: [...identityOf(request), reason]
        })
        const [row] = rows
        if (row === undefined) throw new Error('a statement that always answers a row answered none')
        if (row.state !== null) return recordedOf(row, row.state)
        if (!row.token_lives) return undefined
        // A twin was recorded after this statement began, and the next one sees it.
      }
      throw new Error('a refusal could not be recorded, and nothing else is')
    },

    async completeSpent({ paymentId, content }, windows) {
      const { rows } = await pool.query<SpentRow>({
        name: 'complete-spent',
        text: COMPLETE_SPENT,
        values: [
          paymentId,
          windows.map((window) => window.accessItemId),
          windows.map((window) => window.intervalIndex.toString()),
          ...[content.debitAmount, content.receiveAmount].flatMap(({ asset }) => [asset.code, asset.scale])
        ]
      })
      const spent = rows[0] && spentOf(rows[0])
      if (spent === undefined) throw new Error('a reservation is gone that was just recorded')
      return spent
    }
  }
}

/** The first four parameters of every statement that needs the token. */
function identityOf(request: ReservationRequest): [string, Buffer, Date, Buffer] {
  return [request.paymentId, request.content.tokenHash, request.now, request.contentHash]
}

function recordedOf(row: RecordedRow, state: RecordedReservation['state']): RecordedReservation {
  const debit = amountOf(row.debit, row.debit_code, row.debit_scale)
  const receive = amountOf(row.receive, row.receive_code, row.receive_scale)
  return {
    state,
    amounts: debit && receive && { debit, receive },
    contentHash: row.content_hash ?? undefined,
    refusalReason: (row.refusal_reason as RefusalReason | null) ?? undefined, // only reasons are ever written there
    grantId: row.grant_id ?? undefined,
    window:
      row.access_item_id === null || row.interval_index === null
        ? undefined
        : { accessItemId: row.access_item_id, intervalIndex: BigInt(row.interval_index) },
    spent: spentOf(row)
  }
}

function amountOf(value: string | null, code: string | null, scale: number | null): Amount | undefined {
  return value === null || code === null || scale === null
    ? undefined
    : { value: BigInt(value), asset: { code, scale } }
}

function spentOf(row: SpentRow): SpentValues | undefined {
  return row.spent_debit === null || row.spent_receive === null
    ? undefined
    : { debit: BigInt(row.spent_debit), receive: BigInt(row.spent_receive) }
}
