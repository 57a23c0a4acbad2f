import type { Amount } from '@open-payments-server/amounts'
import type pg from 'pg'
import type { PageEnd } from '../../domain/page-token.js'
import type { PrismaClient, Reservation as ReservationModel } from '../../generated/prisma/client.js'

/** A reservation, or the record that there is none. */
export interface Reservation {
  readonly paymentId: string
  readonly state: 'open' | 'settled' | 'released' | 'refused'
  /** undefined for what never held room; so are the amounts. */
  readonly grantId: string | undefined
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

/** The database's clock wrote `created_at`, and only it can tell their age: Prisma cannot compare with it. */
const LIST_OPEN = `
  select payment_id as "paymentId", state, grant_id as "grantId",
         debit, debit_code as "debitCode", debit_scale as "debitScale",
         receive, receive_code as "receiveCode", receive_scale as "receiveScale",
         settled_debit as "settledDebit", settled_receive as "settledReceive", created_at as "createdAt"
    from reservation
   where state = 'open' and created_at <= now() - make_interval(secs => $1)
     and (created_at, payment_id) > ($3::timestamptz, $4::uuid)
   order by created_at, payment_id
   limit $2`

/** Before every reservation. */
const BEGINNING = ['-infinity', '00000000-0000-0000-0000-000000000000'] as const

/** What both pg and Prisma answer; numerics are decimal strings, or objects that print as such. */
type Row = Pick<
  ReservationModel,
  | 'paymentId'
  | 'state'
  | 'grantId'
  | 'debitCode'
  | 'debitScale'
  | 'receiveCode'
  | 'receiveScale'
  | 'createdAt'
> &
  Readonly<Record<'debit' | 'receive' | 'settledDebit' | 'settledReceive', Numeric | null>>

type Numeric = Pick<string, 'toString'> & { toFixed?(): string }

export function createReservationRepository(pool: pg.Pool, prisma: PrismaClient): ReservationRepository {
  return {
    async listOpen({ olderThanSeconds, after, count }) {
      const position = after === undefined ? BEGINNING : [after.createdAt, after.id]
      const { rows } = await pool.query<Row>(LIST_OPEN, [olderThanSeconds, count, ...position])
      return rows.map(reservationOf)
    },
    async listAfter(paymentId, pageSize) {
      const rows = await prisma.reservation.findMany({
        ...(paymentId === undefined ? {} : { where: { paymentId: { gt: paymentId } } }),
        orderBy: { paymentId: 'asc' },
        take: pageSize
      })
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
    debitAmount: amountOf(row.debit, row.debitCode, row.debitScale),
    receiveAmount: amountOf(row.receive, row.receiveCode, row.receiveScale),
    settled: debited === undefined || received === undefined ? undefined : { debited, received },
    createdAt: row.createdAt
  }
}

function amountOf(value: Numeric | null, code: string | null, scale: number | null): Amount | undefined {
  const integer = integerOf(value)
  return integer === undefined || code === null || scale === null
    ? undefined
    : { value: integer, asset: { code, scale } }
}

/** Prisma's decimals print large numbers with an exponent unless asked for fixed notation. */
function integerOf(value: Numeric | null): bigint | undefined {
  return value === null ? undefined : BigInt(value.toFixed?.() ?? value.toString())
}
