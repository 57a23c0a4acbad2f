import type { Amount } from '@open-payments-server/amounts'
import type pg from 'pg'
import type { PageEnd } from '../../domain/page-end.js'
import type { Reservation as ReservationModel } from '../../generated/prisma/client.js'

/** A reservation, or the record that there is none. */
export interface Reservation {
  readonly paymentId: string
  readonly state: 'open' | 'settled' | 'released' | 'refused'
  /** undefined for what never held room; so are the amounts. */
  readonly grantId: string | undefined
  /** Who holds the grant: URL of its wallet address, or `jwk:` and its key's thumbprint. undefined like the grant. */
  readonly client: string | undefined
  /** URL of the wallet address that pays. */
  readonly walletAddress: string | undefined
  /** URL of the incoming payment that is paid. */
  readonly receiver: string | undefined
  readonly debitAmount: Amount | undefined
  readonly receiveAmount: Amount | undefined
  /** undefined unless settled. */
  readonly settled: { readonly debited: bigint; readonly received: bigint } | undefined
  readonly createdAt: Date
}

/** Which open reservations to list. */
export interface OpenReservationQuery {
  /** Only those that were made at least so many seconds ago, by the database's clock. */
  readonly olderThanSeconds: number
  /** Only those after this one. */
  readonly after: PageEnd | undefined
  readonly count: number
}

/** Lists reservations. */
export interface ReservationRepository {
  /** Open ones, oldest first. */
  listOpen(query: OpenReservationQuery): Promise<Reservation[]>
  /** Those of every state with a payment id after this one, by payment id. */
  listAfter(paymentId: string | undefined, pageSize: number): Promise<Reservation[]>
}

/** Of a reservation `r` and its grant `g`. */
const COLUMNS = `r.payment_id as "paymentId", r.state, r.grant_id as "grantId",
         coalesce(g.client_wallet_address, 'jwk:' || g.client_jwk_thumbprint) as client,
         r.wallet_address as "walletAddress", r.receiver,
         r.debit, r.debit_code as "debitCode", r.debit_scale as "debitScale",
         r.receive, r.receive_code as "receiveCode", r.receive_scale as "receiveScale",
         r.settled_debit as "settledDebit", r.settled_receive as "settledReceive", r.created_at as "createdAt"`

/** The database's clock wrote `created_at`, and only it can tell their age: Prisma cannot compare with it. */
const LIST_OPEN = `
  select ${COLUMNS}
    from (select * from reservation
           where state = 'open' and created_at <= now() - make_interval(secs => $1)
             and (created_at, payment_id) > ($3::timestamptz, $4::uuid)
           order by created_at, payment_id
           limit $2) r
    left join grant_request g on g.id = r.grant_id
   order by r.created_at, r.payment_id`

/** The page comes first, and then the grant of each: Prisma knows of no relation between the two. */
const LIST_AFTER = `
  select ${COLUMNS}
    from (select * from reservation where payment_id > $1 order by payment_id limit $2) r
    left join lateral (
      select client_wallet_address, client_jwk_thumbprint from grant_request where id = r.grant_id limit 1) g on true
   order by r.payment_id`

/** Before every reservation. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const BEGINNING = ['-infinity', FIRST_ID] as const

/** Numerics are decimal strings. */
interface Row extends Pick<
  ReservationModel,
  | 'paymentId'
  | 'state'
  | 'grantId'
  | 'walletAddress'
  | 'receiver'
  | 'debitCode'
  | 'debitScale'
  | 'receiveCode'
  | 'receiveScale'
  | 'createdAt'
> {
  readonly client: string | null
  readonly debit: string | null
  readonly receive: string | null
  readonly settledDebit: string | null
  readonly settledReceive: string | null
}

export function createReservationRepository(pool: pg.Pool): ReservationRepository {
  return {
    async listOpen({ olderThanSeconds, after, count }) {
      const position = after === undefined ? BEGINNING : [after.createdAt, after.id]
      const { rows } = await pool.query<Row>(LIST_OPEN, [olderThanSeconds, count, ...position])
      return rows.map(reservationOf)
    },
    async listAfter(paymentId, pageSize) {
      const { rows } = await pool.query<Row>(LIST_AFTER, [paymentId ?? FIRST_ID, pageSize])
      return rows.map(reservationOf)
    }
  }
}

function reservationOf(row: Row): Reservation {
  const debited = integerOf(row.settledDebit)
  const received = integerOf(row.settledReceive)
  return {
    paymentId: row.paymentId,
    state: row.state,
    grantId: row.grantId ?? undefined,
    client: row.client ?? undefined,
    walletAddress: row.walletAddress ?? undefined,
    receiver: row.receiver ?? undefined,
    debitAmount: amountOf(row.debit, row.debitCode, row.debitScale),
    receiveAmount: amountOf(row.receive, row.receiveCode, row.receiveScale),
    settled: debited === undefined || received === undefined ? undefined : { debited, received },
    createdAt: row.createdAt
  }
}

function amountOf(value: string | null, code: string | null, scale: number | null): Amount | undefined {
  const integer = integerOf(value)
  return integer === undefined || code === null || scale === null
    ? undefined
    : { value: integer, asset: { code, scale } }
}

function integerOf(value: string | null): bigint | undefined {
  return value === null ? undefined : BigInt(value)
}
