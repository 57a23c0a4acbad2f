import type { Pool } from 'pg'
import type { ReservationEnd } from '../../domain/ports.js'

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

/**
 * Claims outcomes that are due by pushing them ahead, so that no transaction stays open over a call, and whoever crashes
 * keeps them no longer than the lease. The times are the database's: replicas need not agree on the clock.
 *
 * @param leaseMs how long they stay with whoever claimed them: longer than telling the auth server takes. An outcome that
 *   is told twice has its effect once
 */
export async function claimDue(pool: Pool, limit: number, leaseMs: number): Promise<DueOutcome[]> {
  const { rows } = await pool.query<DueRow>({
    name: 'claim-reservation-outcomes',
    text: `update grant_reservation r
              set attempts = r.attempts + 1, next_attempt_at = now() + $2 * interval '1 millisecond'
             from (select payment_id from grant_reservation
                    where outcome is not null and delivered_at is null and next_attempt_at <= now()
                    order by next_attempt_at, payment_id limit $1 for no key update skip locked) due
            where r.payment_id = due.payment_id
        returning r.payment_id, r.outcome, r.debited_value, r.received_value, r.attempts`,
    values: [limit, leaseMs]
  })
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

/** Records what the auth server acknowledged. */
export async function markDelivered(pool: Pool, paymentIds: readonly string[]): Promise<void> {
  await pool.query({
    name: 'mark-outcomes-delivered',
    text: 'update grant_reservation set delivered_at = now() where payment_id = any($1)',
    values: [paymentIds]
  })
}

/** Makes outcomes due again after a while. */
export async function postpone(
  pool: Pool,
  failed: readonly { readonly paymentId: string; readonly retryAfterMs: number }[]
): Promise<void> {
  await pool.query(
    `update grant_reservation r set next_attempt_at = now() + f.retry_after_ms * interval '1 millisecond'
       from unnest($1::uuid[], $2::double precision[]) as f(payment_id, retry_after_ms)
      where r.payment_id = f.payment_id`,
    [failed.map(({ paymentId }) => paymentId), failed.map(({ retryAfterMs }) => retryAfterMs)]
  )
}
