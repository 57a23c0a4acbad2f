import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** A payment that no grant counts, as an operator accepts it. */
export interface AcceptedPayment {
  /** Id (UUID). */
  readonly paymentId: string
  /** Id (UUID) of the grant that is gone. */
  readonly grantId: string
}

/** Who accepts payments, and why. */
export interface Acceptance {
  /** Names in the operator's certificate; undefined without mutual TLS. */
  readonly by: string | undefined
  readonly reason: string
  readonly nowMs: number
}

/** What was settled is read where it is accepted, so that the record says what the payment was. */
const ACCEPT = new Statement<{ readonly payment_id: string }>(
  'accept-payments',
  Prisma.sql`
  with asked as (
    select * from json_to_recordset(${placeholder('payments')}::json) as a (payment_id uuid, grant_id uuid)
  ), accepted as (
    insert into accepted_payment (payment_id, grant_id, settled_debit_value, settled_receive_value, accepted_by, reason, accepted_at)
    select r.payment_id, asked.grant_id, r.settled_debit_value, r.settled_receive_value, ${placeholder('by')}::text,
           ${placeholder('reason')}::text, ${placeholder('now')}::timestamptz
      from asked join grant_reservation r on r.payment_id = asked.payment_id
     where r.outcome = 'settle' order by r.payment_id
    on conflict do nothing
    returning payment_id
  )
  select payment_id from accepted order by payment_id`,
  { prepared: false }
)

/**
 * Records that an operator accepts settled payments. The first acceptance of a payment stays.
 *
 * @returns the ids (UUID) that this call recorded
 */
export async function acceptPayments(
  on: Queries,
  payments: readonly AcceptedPayment[],
  { by, reason, nowMs }: Acceptance
): Promise<readonly string[]> {
  const asked = payments.map(({ paymentId, grantId }) => ({ payment_id: paymentId, grant_id: grantId }))
  const values = { payments: JSON.stringify(asked), by: by ?? null, reason, now: instantText(nowMs) }
  return (await ACCEPT.rows(on, values)).map(({ payment_id: id }) => id)
}
