import { Prisma, type Queries } from '../../modules/database.js'

/** A place in the outbox, with the payment it belongs to. */
export interface OutboxRow {
  /** Id (UUID). */
  readonly paymentId: string
  /** Null while the payment is pending. */
  readonly outcome: 'settle' | 'release' | null
  /** Present with a settlement. */
  readonly debitedValue: bigint | undefined
  /** Present with a settlement. */
  readonly receivedValue: bigint | undefined
  /** Whether the auth server acknowledged the outcome. */
  readonly delivered: boolean
  /** Undefined for a payment id that was given up. */
  readonly payment: { readonly debitValue: bigint; readonly receiveValue: bigint } | undefined
}

interface Row {
  readonly payment_id: string
  readonly outcome: 'settle' | 'release' | null
  readonly debited_value: string | null
  readonly received_value: string | null
  readonly delivered: boolean
  readonly debit_value: string | null
  readonly receive_value: string | null
}

/** Before every id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Reads the outbox by payment id, a page at a time.
 *
 * @param afterPaymentId where to begin; with the first unless given
 */
export async function* readOutbox(
  on: Queries,
  pageSize: number,
  afterPaymentId = FIRST_ID
): AsyncGenerator<OutboxRow, undefined> {
  let after = afterPaymentId
  for (;;) {
    const rows = await on.$queryRaw<Row[]>(
      // The page comes first, and then each payment by itself: joined, PostgreSQL reads all payments before the page, for every
      // page again. `limit 1` leaves it no choice.
      Prisma.sql`select r.payment_id, r.outcome, r.debited_value::text, r.received_value::text, r.delivered_at is not null as delivered,
              p.debit_value::text, p.receive_value::text
         from (select * from grant_reservation where payment_id > ${after}::uuid order by payment_id limit ${pageSize}::integer) r
         left join lateral (
           select debit_value, receive_value from outgoing_payment where id = r.payment_id limit 1) p on true
        order by r.payment_id`
    )
    yield* rows.map(toOutboxRow)
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageSize) return
    after = last.payment_id
  }
}

function toOutboxRow(row: Row): OutboxRow {
  return {
    paymentId: row.payment_id,
    outcome: row.outcome,
    debitedValue: row.debited_value === null ? undefined : BigInt(row.debited_value),
    receivedValue: row.received_value === null ? undefined : BigInt(row.received_value),
    delivered: row.delivered,
    payment:
      row.debit_value === null || row.receive_value === null
        ? undefined
        : { debitValue: BigInt(row.debit_value), receiveValue: BigInt(row.receive_value) }
  }
}
