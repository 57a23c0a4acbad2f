import { placeholder, Statement } from '@open-payments-server/database'
import type { ReservationEnd } from '../../domain/ports.js'
import { Prisma, type Queries } from '../database.js'

/** What the auth server is to be told about a payment id. */
export type DueOutcome = ReservationEnd & {
  /** How often delivery was tried, this time included. */
  readonly attempts: number
}

interface DueRow {
  readonly payment_id: string
  readonly outcome: 'settle' | 'release'
  readonly debited_value: string | null
  readonly received_value: string | null
  readonly attempts: number
}

const CLAIM_DUE = new Statement<DueRow>(
  'claim-reservation-outcomes',
  Prisma.sql`
  update grant_reservation r
     set attempts = r.attempts + 1, next_attempt_at = now() + ${placeholder('leaseMs')}::integer * interval '1 millisecond'
    from (select payment_id from grant_reservation
           where outcome is not null and delivered_at is null and next_attempt_at <= now()
           order by next_attempt_at, payment_id limit ${placeholder('limit')}::integer for no key update skip locked) due
   where r.payment_id = due.payment_id
  returning r.payment_id, r.outcome, r.debited_value::text, r.received_value::text, r.attempts`
)

/**
 * Claims outcomes that are due by pushing them ahead, so that no transaction stays open over a call, and whoever crashes
 * keeps them no longer than the lease. The times are the database's: replicas need not agree on the clock.
 *
 * @param leaseMs how long they stay with whoever claimed them: longer than telling the auth server takes. An outcome that
 *   is told twice has its effect once
 */
export async function claimDue(on: Queries, limit: number, leaseMs: number): Promise<DueOutcome[]> {
  const rows = await CLAIM_DUE.rows(on, { limit, leaseMs })
  return rows.map((row) =>
    row.outcome === 'settle'
      ? {
          kind: 'settle',
          paymentId: row.payment_id,
          // A settlement has both: a check constraint says so.
          debitedValue: BigInt(row.debited_value ?? ''),
          receivedValue: BigInt(row.received_value ?? ''),
          attempts: row.attempts
        }
      : { kind: 'release', paymentId: row.payment_id, attempts: row.attempts }
  )
}

const ACKNOWLEDGE = new Statement(
  'mark-outcomes-delivered',
  Prisma.sql`update grant_reservation set delivered_at = now() where payment_id = any(${placeholder('ids')}::uuid[])`
)

/** Records what the auth server acknowledged. */
export async function acknowledge(on: Queries, paymentIds: readonly string[]): Promise<void> {
  await ACKNOWLEDGE.rows(on, { ids: paymentIds })
}

/** Makes outcomes due again after a while. */
export async function postpone(
  on: Queries,
  failed: readonly { readonly paymentId: string; readonly retryAfterMs: number }[]
): Promise<void> {
  const ids = failed.map(({ paymentId }) => paymentId)
  const pauses = failed.map(({ retryAfterMs }) => retryAfterMs)
  await on.$queryRaw(Prisma.sql`
    update grant_reservation r set next_attempt_at = now() + f.retry_after_ms * interval '1 millisecond'
      from unnest(${ids}::uuid[], ${pauses}::double precision[]) as f(payment_id, retry_after_ms)
     where r.payment_id = f.payment_id`)
}
