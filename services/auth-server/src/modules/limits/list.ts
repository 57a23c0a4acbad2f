import { instantText } from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { SettledValues } from '../../domain/ends.js'
import { Prisma, type Queries } from '../database.js'
import { clientOf } from '../grants/index.js'
import {
  type AmountColumns,
  amountsOf,
  type ReservationState,
  type ReservedAmounts,
  type SettledColumns,
  settledOf,
  type SpentColumns,
  spentOf,
  type SpentValues
} from './values.js'

/** A reservation, or the record of a refusal or release. */
export interface Reservation {
  readonly paymentId: string
  readonly state: ReservationState
  /** undefined if nothing was ever reserved; so are the amounts. */
  readonly grantId: string | undefined
  /** The token holder: URL of its wallet address, or `jwk:` and its key's thumbprint. undefined like the grant. */
  readonly client: string | undefined
  /** URL of the paying wallet address. */
  readonly walletAddress: string | undefined
  /** URL of the incoming payment that is paid. */
  readonly receiver: string | undefined
  readonly amounts: ReservedAmounts | undefined
  /** undefined unless settled. */
  readonly settled: SettledValues | undefined
  readonly createdAtMs: number
  /** The instant that decided its interval; undefined if nothing was ever reserved. */
  readonly chargedAtMs: number | undefined
  /** See `contentHash`; undefined for an id that was released before it was reserved. */
  readonly contentHash: Buffer | undefined
  /** What the grant had spent when it was made, this payment included; undefined until it was summed up. */
  readonly spent: SpentValues | undefined
}

/** Which open reservations to list. */
export interface OpenReservationQuery {
  /** Only those created at least this many seconds ago, by the database's clock. */
  readonly olderThanSeconds: number
  /** Only those after this one. */
  readonly after: PageEnd | undefined
  readonly count: number
}

/** Columns of a page `r` of reservations. */
const COLUMNS = Prisma.sql`r.payment_id, r.state, r.grant_id, ${clientOf(Prisma.sql`r.grant_id`)} as client,
         r.wallet_address, r.receiver, r.debit_value::text, r.debit_code, r.debit_scale, r.receive_value::text,
         r.receive_code, r.receive_scale,
         r.settled_debit_value::text, r.settled_receive_value::text, r.created_at, r.charged_at, r.content_hash,
         r.spent_debit_value::text, r.spent_receive_value::text`

interface Row extends AmountColumns, SettledColumns, SpentColumns {
  readonly payment_id: string
  readonly state: ReservationState
  readonly grant_id: string | null
  readonly client: string | null
  readonly wallet_address: string | null
  readonly receiver: string | null
  readonly created_at: Date
  readonly charged_at: Date | null
  readonly content_hash: Uint8Array | null
}

/** Before every reservation. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Open reservations, oldest first. The database's clock recorded when they were created, and only it can tell their age.
 * Models compare neither rows nor instants of that clock.
 */
export async function listOpen(
  on: Queries,
  { olderThanSeconds, after, count }: OpenReservationQuery
): Promise<Reservation[]> {
  const since = after === undefined ? '-infinity' : instantText(after.createdAtMs)
  const rows = await on.$queryRaw<Row[]>(Prisma.sql`
    select ${COLUMNS}
      from (select * from reservation
             where state = 'open' and created_at <= now() - make_interval(secs => ${olderThanSeconds}::double precision)
               and (created_at, payment_id) > (${since}::timestamptz, ${after?.id ?? FIRST_ID}::uuid)
             order by created_at, payment_id
             limit ${count}::integer) r
     order by r.created_at, r.payment_id`)
  return rows.map(reservationOf)
}

/**
 * Reservations of every state with a payment id after this one, by payment id. One statement, with the client of each grant:
 * another module's fragment, which a model cannot read.
 */
export async function listAfter(
  on: Queries,
  paymentId: string | undefined,
  pageSize: number
): Promise<Reservation[]> {
  const rows = await on.$queryRaw<Row[]>(Prisma.sql`
    select ${COLUMNS}
      from (select * from reservation where payment_id > ${paymentId ?? FIRST_ID}::uuid
             order by payment_id limit ${pageSize}::integer) r
     order by r.payment_id`)
  return rows.map(reservationOf)
}

/** Finds the reservation for a payment, or the record that it was refused or released; undefined when there never was one. */
export async function findReservation(on: Queries, paymentId: string): Promise<Reservation | undefined> {
  const [row] = await on.$queryRaw<Row[]>(Prisma.sql`
    select ${COLUMNS} from reservation r where r.payment_id = ${paymentId}::uuid`)
  return row && reservationOf(row)
}

function reservationOf(row: Row): Reservation {
  return {
    paymentId: row.payment_id,
    state: row.state,
    grantId: row.grant_id ?? undefined,
    client: row.client ?? undefined,
    walletAddress: row.wallet_address ?? undefined,
    receiver: row.receiver ?? undefined,
    amounts: amountsOf(row),
    settled: settledOf(row),
    createdAtMs: row.created_at.getTime(),
    chargedAtMs: row.charged_at?.getTime(),
    contentHash: row.content_hash === null ? undefined : Buffer.from(row.content_hash),
    spent: spentOf(row)
  }
}
