import { placeholder, Statement } from '@open-payments-server/database'
import type { ReservationEnd } from '../../domain/ports.js'
import { Prisma, type Queries } from '../database.js'
import { mayBeLost } from './give-up.js'

/** The outcome of a payment id that is to be delivered to the auth server. */
export type DueOutcome = ReservationEnd & {
  /** Number of delivery attempts, including this one. */
  readonly attempts: number
  /** Whether its payment may have been made and lost: if its reservation is from before the database changed its timeline. */
  readonly mayBeLost: boolean
}

interface DueRow {
  readonly payment_id: string
  readonly outcome: 'settle' | 'release'
  readonly settled_debit_value: string | null
  readonly settled_receive_value: string | null
  readonly attempts: number
  readonly may_be_lost: boolean
}

/** Claims with one statement: Prisma's models cannot skip locked rows. */
const CLAIM_DUE = new Statement<DueRow>(
  'claim-reservation-outcomes',
  Prisma.sql`
  update grant_reservation r
     set attempts = r.attempts + 1, next_attempt_at = now() + ${placeholder('leaseMs')}::integer * interval '1 millisecond'
    from (select payment_id from grant_reservation
           where outcome is not null and delivered_at is null and next_attempt_at <= now()
           order by next_attempt_at, payment_id limit ${placeholder('limit')}::integer for no key update skip locked) due
   where r.payment_id = due.payment_id
  returning r.payment_id, r.outcome, r.settled_debit_value::text, r.settled_receive_value::text, r.attempts,
            ${mayBeLost} as may_be_lost`
)

/**
 * Claims due outcomes by moving their next attempt ahead, so that no transaction stays open during a call, and a process
 * that crashes keeps them no longer than the lease. The times are the database's: replicas need not agree on the clock.
 *
 * @param leaseMs how long they belong to the process that claimed them: longer than a delivery takes. Delivering an outcome
 *   twice has the same effect as once
 */
export async function claimDue(on: Queries, limit: number, leaseMs: number): Promise<DueOutcome[]> {
  const rows = await CLAIM_DUE.rows(on, { limit, leaseMs })
  return rows.map((row) =>
    row.outcome === 'settle'
      ? {
          kind: 'settle',
          paymentId: row.payment_id,
          // A check constraint guarantees that a settlement has both.
          settledDebitValue: BigInt(row.settled_debit_value ?? ''),
          settledReceiveValue: BigInt(row.settled_receive_value ?? ''),
          attempts: row.attempts,
          mayBeLost: false
        }
      : {
          kind: 'release',
          paymentId: row.payment_id,
          attempts: row.attempts,
          mayBeLost: row.may_be_lost
        }
  )
}

/**
 * By the database's clock, which Prisma's models cannot name. Only within the lease: an operator may have given the payment up.
 * Locks are taken in the order of ids, like by the statement that does this, to avoid deadlocks. The ids are named twice, so that
 * a plan made while the table is small looks them up too, rather than read the whole index.
 */
const ACKNOWLEDGE = new Statement(
  'mark-outcomes-delivered',
  Prisma.sql`
  update grant_reservation r set delivered_at = now()
    from (select payment_id from grant_reservation
           where payment_id = any(${placeholder('ids')}::uuid[]) and next_attempt_at > now()
           order by payment_id for no key update) acknowledged
   where r.payment_id = acknowledged.payment_id and r.payment_id = any(${placeholder('ids')}::uuid[])`
)

/** Records that the auth server acknowledged outcomes. One whose lease is over is delivered again, which has no further effect. */
export async function acknowledge(on: Queries, paymentIds: readonly string[]): Promise<void> {
  await ACKNOWLEDGE.rows(on, { ids: paymentIds })
}

/** Postpones outcomes. */
export async function postpone(
  on: Queries,
  failed: readonly { readonly paymentId: string; readonly retryAfterMs: number }[]
): Promise<void> {
  const ids = failed.map(({ paymentId }) => paymentId)
  const pauses = failed.map(({ retryAfterMs }) => retryAfterMs)
  // One statement for different times, by the database's clock, with locks in the order of ids. It is not prepared, because only failures
  // need it.
  await on.$queryRaw(Prisma.sql`
    update grant_reservation r set next_attempt_at = now() + f.retry_after_ms * interval '1 millisecond'
      from (select payment_id, retry_after_ms
              from unnest(${ids}::uuid[], ${pauses}::double precision[]) as f(payment_id, retry_after_ms)
              join grant_reservation locked using (payment_id) order by payment_id for no key update of locked) f
     where r.payment_id = f.payment_id`)
}

/** Locks are taken in the order of ids, like by {@link ACKNOWLEDGE}, to avoid deadlocks. */
const DELIVER_AGAIN = new Statement<{ payment_id: string }>(
  'deliver-outcomes-again',
  Prisma.sql`
  update grant_reservation r set delivered_at = null, attempts = 0, next_attempt_at = now()
    from (select payment_id from grant_reservation
           where payment_id = any(${placeholder('ids')}::uuid[]) and outcome is not null
           order by payment_id for no key update) again
   where r.payment_id = again.payment_id and r.payment_id = any(${placeholder('ids')}::uuid[])
  returning r.payment_id`
)

/**
 * Makes outcomes due again, whether the auth server acknowledged them or not. Delivering one twice has the same effect as once.
 *
 * @returns the number of those that are determined: a pending payment has none yet
 */
export async function deliverAgain(on: Queries, paymentIds: readonly string[]): Promise<number> {
  return (await DELIVER_AGAIN.rows(on, { ids: paymentIds })).length
}
